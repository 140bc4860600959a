package import ArgumentParser

/// One row of the settings table: a flag, the environment variable of the same name, its default and what it accepts.
package struct Setting: Sendable {
    /// The flag without its dashes: `http-port`.
    package let flag: String
    let explanation: String
    package let accepted: String
    /// The default, as printed by `--help`.
    package let standard: String

    package init(flag: String, explanation: String, accepted: String, standard: String = "none") {
        self.flag = flag
        self.explanation = explanation
        self.accepted = accepted
        self.standard = standard
    }

    /// The environment variable: `HTTP_PORT`.
    package var variable: String { flag.uppercased().replacing("-", with: "_") }

    /// The setting's name in messages: the flag and the variable.
    var name: String { "--\(flag) (\(variable))" }

    package var help: ArgumentHelp {
        ArgumentHelp("\(explanation): \(accepted). (env: \(variable), default: \(standard))")
    }
}

extension Setting {
    package static let mqttURL = Setting(
        flag: "mqtt-url",
        explanation: "The broker's URL and user; the password comes from the file named by MQTT_PASSWORD_FILE",
        accepted: "mqtt://[user@]host[:port][,host[:port]…], or mqtts:// for TLS", standard: "mqtt://127.0.0.1:1883")
    static let mqttVersion = Setting(
        flag: "mqtt-version", explanation: "The MQTT version", accepted: "5 or 3.1.1", standard: "5")
    static let mqttCAFile = Setting(
        flag: "mqtt-ca-file", explanation: "The CA certificates that the broker's certificate is verified against",
        accepted: "a PEM file", standard: "the system's")
    static let mqttCertFile = Setting(
        flag: "mqtt-cert-file", explanation: "The client certificate",
        accepted: "a PEM file, together with --mqtt-key-file", standard: "none")
    static let mqttKeyFile = Setting(
        flag: "mqtt-key-file", explanation: "The client certificate's key",
        accepted: "a PEM file, together with --mqtt-cert-file", standard: "none")
    static let httpPort = Setting(
        flag: "http-port", explanation: "The port of /livez, /readyz and /metrics",
        accepted: "0 to 65535; 0 disables it", standard: "0")
    static let httpHost = Setting(
        flag: "http-host", explanation: "The address the HTTP port listens on", accepted: "an address or a host name",
        standard: "127.0.0.1")
    static let logLevel = Setting(
        flag: "log-level", explanation: "The lowest level that is logged",
        accepted: "trace, debug, info, notice, warning, error or critical", standard: "info")
    static let logFormat = Setting(
        flag: "log-format", explanation: "The log's format", accepted: "text or json", standard: "text")
    static let logName = Setting(
        flag: "log-name", explanation: "The name of this process in its log", accepted: "letters, digits, ., _ and -",
        standard: "<executable>")
    static let storeURL = Setting(
        flag: "store-url",
        explanation: "The store; PostgreSQL's password comes from the file named by STORE_PASSWORD_FILE",
        accepted: "sqlite:PATH or postgres://user@host[:port][,host…]/database",
        standard: "sqlite:./data/<executable>.sqlite")
    static let storeCAFile = Setting(
        flag: "store-ca-file", explanation: "The CA certificates that PostgreSQL's certificate is verified against",
        accepted: "a PEM file; required unless the server is on loopback or a socket")
    static let shards = Setting(
        flag: "shards", explanation: "The shards this process owns",
        accepted: "hex pairs, ranges and lists, such as 00-3f,80; or auto to share PostgreSQL's with other replicas",
        standard: "00-ff")
}

/// An invalid setting. The description is one line that names the setting.
package struct SettingError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ name: String, _ problem: String) {
        description = "\(name): \(problem)"
    }

    package init(_ setting: Setting, _ problem: String) {
        self.init(setting.name, problem)
    }

    /// `value` is outside what the setting accepts.
    package init(_ setting: Setting, refusing value: String) {
        self.init(setting.name, "'\(value)' is not accepted; expected \(setting.accepted)")
    }
}
