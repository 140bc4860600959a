import CDispatch  // Release builds find the members of `stat` here.
import Foundation
import Glibc
import MQTT

/// Looks up settings: the flag, else the environment variable. An empty variable counts as absent.
package struct SettingValues {
    static let passwordVariable = "MQTT_PASSWORD_FILE"
    static let storePasswordVariable = "STORE_PASSWORD_FILE"

    let environment: [String: String]

    package init(environment: [String: String]) {
        self.environment = environment
    }

    /// The setting's text; `nil` if unset.
    package func text(_ setting: Setting, _ flag: String?) -> String? {
        flag ?? variable(setting.variable)
    }

    /// The setting's parsed value; `nil` if unset.
    func value<Value>(
        _ setting: Setting, _ flag: String?, parse: (String) -> Value?
    ) throws(SettingError) -> Value? {
        guard let text = text(setting, flag) else { return nil }
        guard let value = parse(text) else { throw SettingError(setting, refusing: text) }
        return value
    }

    /// The path of a readable regular file; `nil` if unset.
    package func file(_ setting: Setting, _ flag: String?) throws(SettingError) -> String? {
        guard let path = text(setting, flag) else { return nil }
        guard access(path, R_OK) == 0 else {
            throw SettingError(setting.name, "cannot read '\(path)': \(String(cString: strerror(errno)))")
        }
        var status = stat()
        // Reading a FIFO would wait for a writer.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SettingError(setting.name, "'\(path)' is not a regular file")
        }
        return path
    }

    /// The broker's URL. Errors do not quote it: it may contain a password.
    func mqttURL(_ flag: String?) throws(SettingError) -> MQTTURL {
        let name = Setting.mqttURL.name
        let url: MQTTURL
        do {
            url = try MQTTURL(text(.mqttURL, flag) ?? Setting.mqttURL.standard)
        } catch {
            throw SettingError(name, "\(error); expected \(Setting.mqttURL.accepted)")
        }
        if flag != nil, url.password != nil {
            throw SettingError(
                name,
                "a password in a flag is visible in process lists; write it to a file and name that in \(Self.passwordVariable)"
            )
        }
        return url
    }

    func password() throws(SettingError) -> Secret? {
        guard let path = variable(Self.passwordVariable) else { return nil }
        do {
            return try PasswordFile(path: path).read()
        } catch {
            throw SettingError(Self.passwordVariable, "\(error)")
        }
    }

    /// Reads the password's file again; `nil` if there is none or it cannot be read.
    func currentPassword() -> @Sendable () -> Secret? {
        let file = variable(Self.passwordVariable).map { PasswordFile(path: $0) }
        return { try? file?.read() }
    }

    /// The store's location with its credentials; `nil` if unset.
    func store(_ options: StoreOptions) throws(SettingError) -> StoreURL? {
        let caFile = try file(.storeCAFile, options.storeCAFile)
        guard let url = text(.storeURL, options.storeURL) else { return nil }
        guard let path = variable(Self.storePasswordVariable) else { return try StoreURL(setting: url, caFile: caFile) }
        let file = PasswordFile(path: path)
        do {
            let first = try file.read().value
            // The file may change while the process runs.
            return try StoreURL(setting: url, caFile: caFile) { (try? file.read())?.value ?? first }
        } catch let problem as PasswordFile.Problem {
            throw SettingError(Self.storePasswordVariable, "\(problem)")
        } catch let error as SettingError {
            throw error
        } catch {
            throw SettingError(Self.storePasswordVariable, "\(error)")
        }
    }

    private func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
