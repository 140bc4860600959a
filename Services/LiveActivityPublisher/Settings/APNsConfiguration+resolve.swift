import Foundation
import JWTKit
import MQTT
import NIOSSL
import ServiceKit

extension APNsConfiguration {
    /// Resolves each setting: flag, then environment variable, then default. An empty variable counts as absent.
    ///
    /// Reads the key file and the CA file.
    /// - Throws: `SettingError` for the first invalid setting.
    static func resolve(
        _ options: APNsOptions, environment: [String: String]
    ) throws(SettingError) -> APNsConfiguration {
        let values = APNsValues(options: options, settings: SettingValues(environment: environment))
        return APNsConfiguration(
            account: try values.account(), url: try values.url(), caFile: try values.caFile())
    }
}

private struct APNsValues {
    let options: APNsOptions
    let settings: SettingValues

    func account() throws(SettingError) -> APNsAccount? {
        let parts: [(Setting, String?)] = [
            (.apnsKeyFile, options.keyFile), (.apnsKeyID, options.keyID), (.apnsTeamID, options.teamID),
            (.apnsBundleID, options.bundleID),
        ]
        guard parts.contains(where: { settings.text($0.0, $0.1) != nil }) else { return nil }
        var texts: [String] = []
        for (setting, flag) in parts {
            guard let text = settings.text(setting, flag) else {
                let flags = parts.map { "--\($0.0.flag)" }.joined(separator: ", ")
                throw SettingError(setting, "is missing; set all four or none of \(flags)")
            }
            texts.append(text)
        }
        return APNsAccount(
            key: try key(texts[0]), keyID: try identifier(.apnsKeyID, texts[1]),
            teamID: try identifier(.apnsTeamID, texts[2]), bundleID: try bundle(texts[3]))
    }

    private func key(_ path: String) throws(SettingError) -> ES256PrivateKey {
        let text: Secret
        do {
            text = try PasswordFile(path: path).read()
        } catch {
            throw SettingError(.apnsKeyFile, "\(error)")
        }
        do {
            return try ES256PrivateKey(pem: text.value)
        } catch {
            throw SettingError(.apnsKeyFile, "'\(path)' contains no P-256 key; expected Apple's .p8 file")
        }
    }

    private func identifier(_ setting: Setting, _ text: String) throws(SettingError) -> String {
        guard text.utf8.count == 10, text.utf8.allSatisfy(\.isLetterOrDigit) else {
            throw SettingError(setting, refusing: text)
        }
        return text
    }

    /// Restricted to characters that are safe in a header.
    private func bundle(_ text: String) throws(SettingError) -> String {
        let isIdentifier = text.utf8.allSatisfy {
            $0.isLetterOrDigit || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
        }
        guard isIdentifier, !text.isEmpty else { throw SettingError(.apnsBundleID, refusing: text) }
        return text
    }

    /// Errors do not quote the URL: it may contain a user, a password or a key.
    func url() throws(SettingError) -> String? {
        guard let text = settings.text(.apnsURL, options.url) else { return nil }
        guard let url = URLComponents(string: text, encodingInvalidCharacters: false), url.scheme == "https",
            url.host?.isEmpty == false, (1...65_535).contains(url.port ?? 443), ["", "/"].contains(url.path),
            url.user == nil, url.query == nil, url.fragment == nil
        else {
            throw SettingError(
                .apnsURL, "is not accepted; expected \(Setting.apnsURL.accepted), and an optional port")
        }
        return text.last == "/" ? String(text.dropLast()) : text
    }

    func caFile() throws(SettingError) -> String? {
        guard let path = try settings.file(.apnsCAFile, options.caFile) else { return nil }
        do {
            guard try !NIOSSLCertificate.fromPEMFile(path).isEmpty else { throw NIOSSLError.failedToLoadCertificate }
        } catch {
            throw SettingError(
                .apnsCAFile, "'\(path)' contains no certificate; expected \(Setting.apnsCAFile.accepted)")
        }
        return path
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
