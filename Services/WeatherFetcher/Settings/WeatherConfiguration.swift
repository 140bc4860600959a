/// Whom to ask for the weather.
///
/// - `source` (`WEATHER_PROVIDER`): one of four providers; by default Open-Meteo. MET Norway wants a `WEATHER_CONTACT`, WeatherKit its four
///   `WEATHERKIT_…` settings.
/// - `url` (`WEATHER_URL`): where the provider is, when it is not where everybody finds it; no budget is kept then.
struct WeatherConfiguration: Sendable {
    enum Source: Sendable {
        case none
        case openMeteo
        case metNorway
        case weatherKit(WeatherKitAccount)
    }

    var source = Source.openMeteo
    var url: String?
    /// Whom a provider turns to when it has something to say: a mail address or a page.
    var contact: String?

    /// The provider; `nil` when nobody is to be asked.
    var provider: (any WeatherProvider)? {
        switch source {
        case .none: nil
        case .openMeteo: OpenMeteo()
        case .metNorway: METNorway()
        case .weatherKit(let account): WeatherKit(token: WeatherKitToken(account))
        }
    }
}
