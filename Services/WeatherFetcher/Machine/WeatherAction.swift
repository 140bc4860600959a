import Workouts

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
