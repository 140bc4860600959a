import Bus
import TestSupport
import Workouts

extension SeededRandom {
    mutating func weather() -> Weather {
        Weather(
            revision: revision(), observedAt: time(), fetchedAt: time(),
            temperature: .random(in: -40...50, using: &self),
            apparentTemperature: maybe(.random(in: -40...50, using: &self)),
            humidity: maybe(.random(in: 0...1, using: &self)), windSpeed: maybe(.random(in: 0...40, using: &self)),
            condition: some(WeatherCondition.self), provider: "open-meteo",
            attribution: WeatherAttribution(text: "Open-Meteo", url: "https://open-meteo.com"),
            isStale: .random(using: &self))
    }

    /// The totals of a session's locations.
    mutating func route() -> RouteReport {
        var totals = RouteSummary()
        totals.distance = maybe(.random(in: 0...50_000, using: &self))
        totals.averageSpeed = maybe(.random(in: 0...9, using: &self))
        totals.maximumSpeed = maybe(.random(in: 0...9, using: &self))
        totals.ascent = maybe(.random(in: 0...900, using: &self))
        totals.descent = maybe(.random(in: 0...900, using: &self))
        totals.bounds = maybe(bounds())
        totals.polyline = maybe(["_p~iF~ps|U", "_ulLnnqC"]) ?? []
        return RouteReport(
            revision: revision(), state: revision(), next: streams(), chunks: 2, gaps: silences(), outside: streams(),
            totals: totals)
    }

    mutating func silences() -> Silences {
        let bounds = (0..<4).map { _ in time() }.sorted()
        return maybe(
            Silences([
                .init(from: nil, to: bounds[0]), .init(from: bounds[1], to: bounds[2]), .init(from: bounds[3], to: nil),
            ])
        ) ?? Silences()
    }

    private func bounds() -> RouteSummary.Bounds {
        let text = #"{"south":-1,"west":179,"north":1,"east":-179}"#
        do {
            return try JSONCoding.decode(RouteSummary.Bounds.self, from: text.utf8)
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// Finished records with and without metrics, route and weather.
    mutating func records(of session: Session, _ report: MetricsReport) -> [WorkoutRecord] {
        [report, nil].flatMap { metrics in
            [route(), nil].map { route in
                WorkoutRecord(
                    session, metrics: metrics, route: route, weather: maybe(weather()),
                    isComplete: .random(using: &self), revision: revision())
            }
        }
    }
}
