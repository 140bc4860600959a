import Foundation
import JWTKit
import MQTT
import ServiceKit

extension WeatherConfiguration {
    /// Resolves each setting: flag, then environment variable, then default. An empty variable counts as absent.
    ///
    /// - Throws: `SettingError` for the first invalid setting.
    static func resolve(
        _ options: WeatherOptions, environment: [String: String]
    ) throws(SettingError) -> WeatherConfiguration {
        let values = WeatherValues(options: options, settings: SettingValues(environment: environment))
        var configuration = WeatherConfiguration()
        configuration.url = try values.url()
        configuration.contact = try values.contact()
        let provider = values.settings.text(.weatherProvider, options.provider) ?? Setting.weatherProvider.standard
        switch provider {
        case "none": configuration.source = .none
        case "open-meteo": configuration.source = .openMeteo
        case "met-norway":
            guard configuration.contact != nil else {
                throw SettingError(.weatherContact, "is missing; --weather-provider met-norway requires it")
            }
            configuration.source = .metNorway
        case "weatherkit": configuration.source = .weatherKit(try values.account())
        default: throw SettingError(.weatherProvider, refusing: provider)
        }
        return configuration
    }
}

private struct WeatherValues {
    let options: WeatherOptions
    let settings: SettingValues

    /// The provider's base URL without a trailing slash.
    func url() throws(SettingError) -> String? {
        guard let text = settings.text(.weatherURL, options.url) else { return nil }
        guard let url = URLComponents(string: text), ["http", "https"].contains(url.scheme), url.host?.isEmpty == false,
            url.user == nil, url.query == nil, url.fragment == nil
        else {
            // Not quoted: the URL may contain a user, a password or a key.
            throw SettingError(
                .weatherURL, "is not accepted; expected \(Setting.weatherURL.accepted), without user, query or fragment"
            )
        }
        return text.last == "/" ? String(text.dropLast()) : text
    }

    /// Restricted to characters that are safe in a header.
    func contact() throws(SettingError) -> String? {
        guard let text = settings.text(.weatherContact, options.contact) else { return nil }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw SettingError(.weatherContact, refusing: text)
        }
        return text
    }

    func account() throws(SettingError) -> WeatherKitAccount {
        WeatherKitAccount(
            team: try identifier(.weatherKitTeam, options.team),
            service: try identifier(.weatherKitService, options.service),
            keyID: try identifier(.weatherKitKeyID, options.keyID), key: try key())
    }

    private func identifier(_ setting: Setting, _ flag: String?) throws(SettingError) -> String {
        let text = try required(setting, flag)
        let isWord = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isWord, !text.isEmpty else { throw SettingError(setting, refusing: text) }
        return text
    }

    private func key() throws(SettingError) -> ES256PrivateKey {
        let path = try required(.weatherKitKeyFile, options.keyFile)
        let text: Secret
        do {
            text = try PasswordFile(path: path).read()
        } catch {
            throw SettingError(.weatherKitKeyFile, "\(error)")
        }
        do {
            return try ES256PrivateKey(pem: text.value)
        } catch {
            throw SettingError(
                .weatherKitKeyFile, "'\(path)' contains no P-256 key; expected Apple's .p8 file")
        }
    }

    private func required(_ setting: Setting, _ flag: String?) throws(SettingError) -> String {
        guard let text = settings.text(setting, flag) else {
            throw SettingError(setting, "is missing; --weather-provider weatherkit requires it")
        }
        return text
    }
}
