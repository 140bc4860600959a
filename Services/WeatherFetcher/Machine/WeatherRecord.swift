import Storage
import Workouts

/// What is stored of a session: enough that revisions never go back and nobody is asked again too early.
///
/// Only sessions that began live are in the store, and those whose weather still stands retained.
struct WeatherRecord: Codable, Equatable, Sendable {
    /// Where it takes place, once that is known.
    var cell: WeatherCell?
    /// What was published last.
    var reading: Reading?
    var isStale = false
    /// The highest revision that was used or seen.
    var revision: Int64 = 0
    /// When it was published last, else when the session was first heard of, by the service's clock.
    var changedAt: Timestamp

    /// `user/session` → a record as JSON.
    static let sessions = StoreCollection("sessions")
    static let schema = StoreSchema(service: "weather-fetcher", steps: [[sessions]])

    var weather: Weather? { reading.map { Weather($0, revision: revision, isStale: isStale) } }
}
