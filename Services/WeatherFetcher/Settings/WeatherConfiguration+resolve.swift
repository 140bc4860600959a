import Foundation
import JWTKit
import ServiceKit

extension WeatherConfiguration {
    /// Resolves each setting: flag, then environment variable, then default. An empty variable counts as absent.
    ///
    /// - Throws: `SettingError` for the first invalid setting.
    static func resolve(
        _ options: WeatherOptions, environment: [String: String]
    ) throws(SettingError) -> WeatherConfiguration {
        let values = Values(options: options, environment: environment)
        var configuration = WeatherConfiguration()
        configuration.url = try values.url()
        configuration.contact = try values.contact()
        let provider = values.text(.weatherProvider, options.provider) ?? Setting.weatherProvider.standard
        switch provider {
        case "none": configuration.source = .none
        case "open-meteo": configuration.source = .openMeteo
        case "met-norway":
            guard configuration.contact != nil else {
                throw SettingError(.weatherContact, "is missing; MET Norway requires a contact")
            }
            configuration.source = .metNorway
        case "weatherkit": configuration.source = .weatherKit(try values.account())
        default: throw SettingError(.weatherProvider, refusing: provider)
        }
        return configuration
    }
}

private struct Values {
    let options: WeatherOptions
    let environment: [String: String]

    func text(_ setting: Setting, _ flag: String?) -> String? {
        flag ?? environment[setting.variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The provider's base URL without a trailing slash.
    func url() throws(SettingError) -> String? {
        guard let text = text(.weatherURL, options.url) else { return nil }
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
        guard let text = text(.weatherContact, options.contact) else { return nil }
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
        let text: String
        do {
            let target = URL(filePath: path).resolvingSymlinksInPath()
            let permissions = try FileManager.default.attributesOfItem(atPath: target.path)[.posixPermissions] as? Int
            guard let permissions, permissions & 0o004 == 0 else {
                throw SettingError(
                    .weatherKitKeyFile, "\(path) is readable by every user; run: chmod o-r \(path)")
            }
            text = try String(contentsOf: target, encoding: .utf8)
        } catch let error as SettingError {
            throw error
        } catch {
            throw SettingError(.weatherKitKeyFile, "cannot read '\(path)': \(error.localizedDescription)")
        }
        do {
            return try ES256PrivateKey(pem: text)
        } catch {
            throw SettingError(
                .weatherKitKeyFile, "'\(path)' contains no P-256 key; expected Apple's .p8 file")
        }
    }

    private func required(_ setting: Setting, _ flag: String?) throws(SettingError) -> String {
        guard let text = text(setting, flag) else {
            throw SettingError(setting, "is missing; WeatherKit requires it")
        }
        return text
    }
}
