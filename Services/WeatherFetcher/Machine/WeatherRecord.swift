import ServiceKit
import Storage
import Workouts

/// The stored part of a session, so that after a restart revisions rise and requests keep their interval.
///
/// The store has only sessions that began live, and sessions whose weather is still retained.
struct WeatherRecord: Codable, Equatable, Sendable {
    /// Where the session takes place, once a position is known.
    var cell: WeatherCell?
    /// The last published reading.
    var reading: WeatherReading?
    var isStale = false
    /// The highest revision that was published or received.
    var revision: Int64 = 0
    /// When the weather was published last; before that, when the session's first state was received.
    var changedAt: Moment

    /// `user/session` → a record as JSON.
    static let sessions = StoreCollection("sessions")
    static let schema = StoreSchema(service: "weather-fetcher", steps: [[sessions]])

    /// Limits moments that were stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        changedAt = changedAt.atMost(now)
        guard let stored = reading else { return }
        reading?.fetchedAt = stored.fetchedAt.atMost(now)
        reading?.dueAt = stored.dueAt.atMost(now + WeatherFetcherMachine.cachingLimit)
    }

    var weather: Weather? { reading.map { Weather($0, revision: revision, isStale: isStale) } }
}
