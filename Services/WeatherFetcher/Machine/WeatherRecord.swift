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

/// What the machine wants done: first what is saved and erased, in one commit, then the rest.
enum WeatherAction: Hashable {
    case save(SessionKey)
    case erase(SessionKey)
    case publish(SessionKey)
    /// Clears the retained topic.
    case clear(SessionKey)
    case report(ProviderReport)
}

/// A change in how the provider does, told once.
enum ProviderReport: Hashable {
    case answering
    /// It is asked again, less and less often.
    case failing(FetchFailure)
    /// It is left alone for long.
    case refusing(FetchFailure, until: Timestamp)
}
