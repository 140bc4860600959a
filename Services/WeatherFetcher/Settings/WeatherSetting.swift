import ArgumentParser

/// One of the service's own settings: a flag, the environment variable of the same name, its default and what it accepts.
struct WeatherSetting {
    /// The flag without its dashes.
    let flag: String
    let explanation: String
    let accepted: String
    var standard = "none"

    var variable: String { flag.uppercased().replacing("-", with: "_") }

    /// How a message names the setting: the flag and the variable.
    var name: String { "--\(flag) (\(variable))" }

    var help: ArgumentHelp {
        ArgumentHelp("\(explanation): \(accepted). (env: \(variable), default: \(standard))")
    }
}

extension WeatherSetting {
    static let provider = WeatherSetting(
        flag: "weather-provider", explanation: "Whom to ask for the weather",
        accepted: "open-meteo, weatherkit, met-norway or none", standard: "open-meteo")
    static let url = WeatherSetting(
        flag: "weather-url", explanation: "Where the provider is, such as an Open-Meteo server of your own",
        accepted: "http:// or https:// with a host, and a path if need be", standard: "the provider's own address")
    static let contact = WeatherSetting(
        flag: "weather-contact", explanation: "Whom a provider may turn to; MET Norway wants to know",
        accepted: "a mail address or a page on the web")
    static let keyFile = WeatherSetting(
        flag: "weatherkit-key-file", explanation: "The private key of the account with WeatherKit",
        accepted: "a .p8 file that not everybody can read")
    static let keyID = WeatherSetting(
        flag: "weatherkit-key-id", explanation: "The identifier of that key", accepted: "letters and digits")
    static let team = WeatherSetting(
        flag: "weatherkit-team-id", explanation: "The developer team", accepted: "letters and digits")
    static let service = WeatherSetting(
        flag: "weatherkit-service-id", explanation: "The service registered for WeatherKit",
        accepted: "an identifier such as org.example.weather")
}

/// A setting that the service cannot start with. Its description is one line that names the setting.
struct WeatherSettingError: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ setting: WeatherSetting, _ problem: String) {
        description = "\(setting.name): \(problem)"
    }

    init(_ setting: WeatherSetting, refusing value: String) {
        self.init(setting, "'\(value)' is not accepted; expected \(setting.accepted)")
    }
}
