import ServiceKit
import Workouts

/// The last answer for a cell, and how long it is valid.
struct WeatherReading: Codable, Equatable, Sendable {
    /// How old an answer may become, in seconds.
    static let lifetime = 900.0
    /// How long after the next request is due an answer is still valid, in seconds.
    private static let grace = 300.0

    var observation: Observation
    /// When the provider returned it, or confirmed it.
    var fetchedAt: Moment
    /// When the next request is due.
    var dueAt: Moment
    /// The provider's `Last-Modified`, verbatim.
    var validator: String?

    /// When it becomes stale. An answer that the provider allows to be cached for longer than its lifetime is not stale before
    /// the next one is overdue.
    var staleAt: Moment { max(fetchedAt + Self.lifetime, dueAt + Self.grace) }
}

extension Weather {
    init(_ reading: WeatherReading, revision: Int64, isStale: Bool) {
        let observation = reading.observation
        self.init(
            revision: revision, observedAt: observation.observedAt, fetchedAt: reading.fetchedAt.wallClock,
            temperature: observation.temperature, apparentTemperature: observation.apparentTemperature,
            humidity: observation.humidity, windSpeed: observation.windSpeed, condition: observation.condition,
            provider: observation.provider, attribution: observation.attribution, isStale: isStale)
    }
}
