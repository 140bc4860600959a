import Foundation
import JWTKit

extension WeatherConfiguration {
    /// Puts flags before environment variables before defaults. A variable that is set to nothing counts as absent.
    ///
    /// - Throws: `WeatherSettingError` for the first setting that the service cannot start with.
    static func resolve(
        _ options: WeatherOptions, environment: [String: String]
    ) throws(WeatherSettingError) -> WeatherConfiguration {
        let values = Values(options: options, environment: environment)
        var configuration = WeatherConfiguration()
        configuration.url = try values.url()
        configuration.contact = try values.contact()
        let provider = values.text(.provider, options.provider) ?? WeatherSetting.provider.standard
        switch provider {
        case "none": configuration.source = .none
        case "open-meteo": configuration.source = .openMeteo
        case "met-norway":
            guard configuration.contact != nil else {
                throw WeatherSettingError(.contact, "is missing; MET Norway serves nobody without one")
            }
            configuration.source = .metNorway
        case "weatherkit": configuration.source = .weatherKit(try values.account())
        default: throw WeatherSettingError(.provider, refusing: provider)
        }
        return configuration
    }
}

private struct Values {
    let options: WeatherOptions
    let environment: [String: String]

    func text(_ setting: WeatherSetting, _ flag: String?) -> String? {
        flag ?? environment[setting.variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The provider's address without a slash at its end.
    func url() throws(WeatherSettingError) -> String? {
        guard let text = text(.url, options.url) else { return nil }
        guard let url = URLComponents(string: text), ["http", "https"].contains(url.scheme), url.host?.isEmpty == false,
            url.user == nil, url.query == nil, url.fragment == nil
        else {
            // Its user, password or key must not stand in a log.
            throw WeatherSettingError(.url, "is not accepted; expected \(WeatherSetting.url.accepted), and no more")
        }
        return text.last == "/" ? String(text.dropLast()) : text
    }

    /// It becomes part of a header.
    func contact() throws(WeatherSettingError) -> String? {
        guard let text = text(.contact, options.contact) else { return nil }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw WeatherSettingError(.contact, refusing: text)
        }
        return text
    }

    func account() throws(WeatherSettingError) -> WeatherKitAccount {
        WeatherKitAccount(
            team: try identifier(.team, options.team), service: try identifier(.service, options.service),
            keyID: try identifier(.keyID, options.keyID), key: try key())
    }

    private func identifier(_ setting: WeatherSetting, _ flag: String?) throws(WeatherSettingError) -> String {
        let text = try required(setting, flag)
        let isWord = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isWord, !text.isEmpty else { throw WeatherSettingError(setting, refusing: text) }
        return text
    }

    private func key() throws(WeatherSettingError) -> ES256PrivateKey {
        let path = try required(.keyFile, options.keyFile)
        let text: String
        do {
            let target = URL(filePath: path).resolvingSymlinksInPath()
            let permissions = try FileManager.default.attributesOfItem(atPath: target.path)[.posixPermissions] as? Int
            guard let permissions, permissions & 0o004 == 0 else {
                throw WeatherSettingError(.keyFile, "everybody can read \(path); take that right away with chmod o-r")
            }
            text = try String(contentsOf: target, encoding: .utf8)
        } catch let error as WeatherSettingError {
            throw error
        } catch {
            throw WeatherSettingError(.keyFile, "cannot read '\(path)': \(error.localizedDescription)")
        }
        do {
            return try ES256PrivateKey(pem: text)
        } catch {
            throw WeatherSettingError(.keyFile, "'\(path)' holds no key of the curve P-256; expected Apple's .p8 file")
        }
    }

    private func required(_ setting: WeatherSetting, _ flag: String?) throws(WeatherSettingError) -> String {
        guard let text = text(setting, flag) else {
            throw WeatherSettingError(setting, "is missing; WeatherKit cannot be asked without it")
        }
        return text
    }
}
