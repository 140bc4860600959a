import ArgumentParser
import ServiceKit

/// The weather provider and its credentials.
///
/// - `source` (`WEATHER_PROVIDER`): one of four providers; default Open-Meteo. MET Norway requires `WEATHER_CONTACT`, WeatherKit its four
///   `WEATHERKIT_…` settings.
/// - `url` (`WEATHER_URL`): the base URL of a private server; no request budget applies to it.
struct WeatherConfiguration: Sendable {
    enum Source: Sendable {
        case none
        case openMeteo
        case metNorway
        case weatherKit(WeatherKitAccount)
    }

    var source = Source.openMeteo
    var url: String?
    /// The contact sent in the User-Agent: a mail address or a web page.
    var contact: String?

    /// The provider; `nil` if weather is disabled.
    var provider: (any WeatherProvider)? {
        switch source {
        case .none: nil
        case .openMeteo: OpenMeteo()
        case .metNorway: METNorway()
        case .weatherKit(let account): WeatherKit(token: WeatherKitToken(account))
        }
    }
}

/// The service's flags.
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

extension Setting {
    static let weatherProvider = Setting(
        flag: "weather-provider", explanation: "The weather provider",
        accepted: "open-meteo, weatherkit, met-norway or none", standard: "open-meteo")
    static let weatherURL = Setting(
        flag: "weather-url", explanation: "The provider's base URL, for example a self-hosted Open-Meteo server",
        accepted: "http:// or https:// with a host and an optional path", standard: "the provider's public address")
    static let weatherContact = Setting(
        flag: "weather-contact", explanation: "A contact that providers see in the User-Agent; MET Norway requires one",
        accepted: "a mail address or a web page")
    static let weatherKitKeyFile = Setting(
        flag: "weatherkit-key-file", explanation: "The private key of the WeatherKit account",
        accepted: "a .p8 file that other users cannot read")
    static let weatherKitKeyID = Setting(
        flag: "weatherkit-key-id", explanation: "The key's identifier", accepted: "letters and digits")
    static let weatherKitTeam = Setting(
        flag: "weatherkit-team-id", explanation: "The developer team's identifier", accepted: "letters and digits")
    static let weatherKitService = Setting(
        flag: "weatherkit-service-id", explanation: "The service identifier registered for WeatherKit",
        accepted: "an identifier such as org.example.weather")
}
