import ArgumentParser
import ServiceKit

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

/// The service's own flags. What is absent comes from the environment, else from the default.
struct WeatherOptions: ParsableArguments {
    @Option(name: .customLong(Setting.weatherProvider.flag), help: Setting.weatherProvider.help)
    var provider: String?

    @Option(name: .customLong(Setting.weatherURL.flag), help: Setting.weatherURL.help)
    var url: String?

    @Option(name: .customLong(Setting.weatherContact.flag), help: Setting.weatherContact.help)
    var contact: String?

    @Option(name: .customLong(Setting.weatherKitKeyFile.flag), help: Setting.weatherKitKeyFile.help)
    var keyFile: String?

    @Option(name: .customLong(Setting.weatherKitKeyID.flag), help: Setting.weatherKitKeyID.help)
    var keyID: String?

    @Option(name: .customLong(Setting.weatherKitTeam.flag), help: Setting.weatherKitTeam.help)
    var team: String?

    @Option(name: .customLong(Setting.weatherKitService.flag), help: Setting.weatherKitService.help)
    var service: String?
}

/// The service's own settings.
extension Setting {
    static let weatherProvider = Setting(
        flag: "weather-provider", explanation: "Whom to ask for the weather",
        accepted: "open-meteo, weatherkit, met-norway or none", standard: "open-meteo")
    static let weatherURL = Setting(
        flag: "weather-url", explanation: "Where the provider is, such as an Open-Meteo server of your own",
        accepted: "http:// or https:// with a host, and a path if need be", standard: "the provider's own address")
    static let weatherContact = Setting(
        flag: "weather-contact", explanation: "Whom a provider may turn to; MET Norway wants to know",
        accepted: "a mail address or a page on the web")
    static let weatherKitKeyFile = Setting(
        flag: "weatherkit-key-file", explanation: "The private key of the account with WeatherKit",
        accepted: "a .p8 file that not everybody can read")
    static let weatherKitKeyID = Setting(
        flag: "weatherkit-key-id", explanation: "The identifier of that key", accepted: "letters and digits")
    static let weatherKitTeam = Setting(
        flag: "weatherkit-team-id", explanation: "The developer team", accepted: "letters and digits")
    static let weatherKitService = Setting(
        flag: "weatherkit-service-id", explanation: "The service registered for WeatherKit",
        accepted: "an identifier such as org.example.weather")
}
