import Bus
import ServiceKit
import Timing
import Workouts

/// MET Norway: needs no key, requires a contact in the User-Agent.
///
/// Source: https://api.met.no/doc/TermsOfService and https://api.met.no/weatherapi/locationforecast/2.0/documentation.
struct METNorway: WeatherProvider {
    static let name = "met-norway"
    static let url = "https://api.met.no"
    /// 20 a second for one application.
    static let budget = TokenBucket<Moment>(burst: 20, perSecond: 10)

    private static let attribution = WeatherAttribution(
        text: "Data from MET Norway (CC BY 4.0)", url: "https://www.met.no/en")

    func path(_ cell: WeatherCell) -> String {
        "/weatherapi/locationforecast/2.0/compact?lat=\(cell.latitude)&lon=\(cell.longitude)"
    }

    func headers(now: Timestamp) -> [String: String] { [:] }

    func read(_ body: [UInt8]) throws(PayloadError) -> ProviderAnswer {
        let answer = try JSONCoding.decode(Answer.self, from: body)
        guard let current = answer.properties.timeseries.first else { throw .malformed("timeseries: empty") }
        guard let time = Timestamp(iso8601: current.time) else { throw .malformed("time: not a time") }
        let details = current.data.instant.details
        let symbol = current.data.nextHour?.summary.symbol
        let observation = Observation(
            observedAt: time, temperature: details.temperature, humidity: details.humidity.map { $0 / 100 },
            windSpeed: details.windSpeed, condition: symbol.map(WeatherCondition.init(metSymbol:)) ?? .unknown,
            provider: Self.name, attribution: Self.attribution)
        return ProviderAnswer(observation: observation)
    }

    private struct Answer: Decodable {
        struct Properties: Decodable {
            let timeseries: [Step]
        }

        struct Step: Decodable {
            let time: String
            let data: Forecast
        }

        struct Forecast: Decodable {
            let instant: Instant
            let nextHour: Hour?

            private enum CodingKeys: String, CodingKey {
                case instant
                case nextHour = "next_1_hours"
            }
        }

        struct Instant: Decodable {
            let details: Details
        }

        struct Details: Decodable {
            let temperature: Double
            /// Per cent.
            let humidity: Double?
            let windSpeed: Double?

            private enum CodingKeys: String, CodingKey {
                case temperature = "air_temperature"
                case humidity = "relative_humidity"
                case windSpeed = "wind_speed"
            }
        }

        struct Hour: Decodable {
            let summary: Summary
        }

        struct Summary: Decodable {
            let symbol: String

            private enum CodingKeys: String, CodingKey {
                case symbol = "symbol_code"
            }
        }

        let properties: Properties
    }
}

extension WeatherCondition {
    /// - Parameter code: a MET Norway symbol code, such as `lightrainshowers_day`.
    init(metSymbol code: String) {
        let symbol = code.prefix { $0 != "_" }
        self =
            switch symbol {
            case "clearsky", "fair": .clear
            case "partlycloudy": .partlyCloudy
            case "cloudy": .cloudy
            case "fog": .fog
            case _ where symbol.hasSuffix("andthunder"): .thunderstorm
            case _ where symbol.contains("sleet"): .sleet
            case "heavysnow", "heavysnowshowers": .heavySnow
            case _ where symbol.contains("snow"): .snow
            case "heavyrain", "heavyrainshowers": .heavyRain
            case _ where symbol.contains("rain"): .rain
            default: .unknown
            }
    }
}
