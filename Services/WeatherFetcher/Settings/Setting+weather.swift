import ServiceKit

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
