import Workouts

/// The last answer for a cell, and how long it holds.
struct Reading: Codable, Equatable, Sendable {
    /// How old an answer may become, in seconds.
    static let lifetime = 900.0
    /// How long after the next request was due an answer still counts, in seconds.
    private static let grace = 300.0

    var observation: Observation
    /// When the provider was asked last and said so.
    var fetchedAt: Timestamp
    /// When to ask again.
    var dueAt: Timestamp
    /// The provider's `Last-Modified`, to the letter.
    var validator: String?

    /// From when on it may not hold any more. An answer that the provider lets stand for longer than its lifetime is not
    /// stale before the next one is overdue.
    var staleAt: Timestamp { max(fetchedAt + Self.lifetime, dueAt + Self.grace) }
}

extension Weather {
    init(_ reading: Reading, revision: Int64, isStale: Bool) {
        let observation = reading.observation
        self.init(
            revision: revision, observedAt: observation.observedAt, fetchedAt: reading.fetchedAt,
            temperature: observation.temperature, apparentTemperature: observation.apparentTemperature,
            humidity: observation.humidity, windSpeed: observation.windSpeed, condition: observation.condition,
            provider: observation.provider, attribution: observation.attribution, isStale: isStale)
    }
}
