import ArgumentParser
import Logging
import MQTT
import ServiceKit
import Storage
import Testing
import Workouts

private let storeURLs = "sqlite:PATH or postgres://user@host[:port][,host…]/database"

@Suite struct SettingsTests {
    private func resolve(
        _ flags: [String] = [], store: [String] = [], _ environment: [String: String] = [:]
    ) throws -> ServiceConfiguration {
        try ServiceConfiguration.resolve(
            "session-engine", BaseOptions.parse(flags), StoreOptions.parse(store), environment: environment)
    }

    /// One row of the settings table: its value in a configuration, its default, and two other values.
    struct Row: Sendable, CustomTestStringConvertible {
        let flag: String
        let variable: String
        let standard: String
        let values: [String]
        var isOfStore = false
        var environment: [String: String] = [:]
        let shown: @Sendable (ServiceConfiguration) -> String

        var testDescription: String { flag }
    }

    static let rows = [
        Row(
            flag: "--mqtt-url", variable: "MQTT_URL", standard: "mqtt://127.0.0.1:1883",
            values: ["mqtts://ann@example.org:8884", "mqtt://[::1]:1999"], shown: \.broker),
        Row(flag: "--mqtt-version", variable: "MQTT_VERSION", standard: "5", values: ["3.1.1", "5"]) {
            $0.mqtt.version.rawValue
        },
        Row(
            flag: "--mqtt-ca-file", variable: "MQTT_CA_FILE", standard: "none", values: ["/etc/passwd", "/etc/group"],
            environment: ["MQTT_URL": "mqtts://example.org"]
        ) { $0.mqtt.tls?.caFile ?? "none" },
        Row(
            flag: "--mqtt-cert-file", variable: "MQTT_CERT_FILE", standard: "none",
            values: ["/etc/passwd", "/etc/group"],
            environment: ["MQTT_URL": "mqtts://example.org", "MQTT_KEY_FILE": "/etc/hosts"]
        ) { $0.mqtt.tls?.certificateFile ?? "none" },
        Row(
            flag: "--mqtt-key-file", variable: "MQTT_KEY_FILE", standard: "none",
            values: ["/etc/passwd", "/etc/group"],
            environment: ["MQTT_URL": "mqtts://example.org", "MQTT_CERT_FILE": "/etc/hosts"]
        ) { $0.mqtt.tls?.keyFile ?? "none" },
        Row(
            flag: "--store-url", variable: "STORE_URL", standard: "sqlite:./data/session-engine.sqlite",
            values: ["sqlite:/var/lib/a.sqlite", "postgres://ann@localhost/pacebus"], isOfStore: true
        ) { "\($0.store)" },
        Row(
            flag: "--store-ca-file", variable: "STORE_CA_FILE", standard: "none",
            values: ["/etc/passwd", "/etc/group"],
            isOfStore: true,
            environment: ["STORE_URL": "postgres://ann@localhost/pacebus"]
        ) { configuration in
            guard case .postgres(let address) = configuration.store else { return "none" }
            return address.caFile ?? "none"
        },
        Row(
            flag: "--shards", variable: "SHARDS", standard: "00-ff", values: ["00-3f,80", "7f"], isOfStore: true
        ) { "\($0.shards)" },
        Row(flag: "--http-port", variable: "HTTP_PORT", standard: "0", values: ["9090", "65535"]) {
            "\($0.httpPort)"
        },
        Row(
            flag: "--http-host", variable: "HTTP_HOST", standard: "127.0.0.1", values: ["0.0.0.0", "::1"],
            shown: \.httpHost),
        Row(flag: "--log-level", variable: "LOG_LEVEL", standard: "info", values: ["debug", "error"]) {
            $0.logLevel.rawValue
        },
        Row(flag: "--log-format", variable: "LOG_FORMAT", standard: "text", values: ["json", "text"]) {
            $0.logFormat.rawValue
        },
        Row(
            flag: "--log-name", variable: "LOG_NAME", standard: "session-engine",
            values: ["session-engine-2", "session-engine-3"], shown: \.logName),
    ]

    @Test(arguments: rows) func `a flag overrides the environment, which overrides the default`(row: Row) throws {
        let (fromFlag, fromEnvironment) = (row.values[0], row.values[1])
        func shown(_ flags: [String], _ environment: [String: String]) throws -> String {
            let needed = row.environment.merging(environment) { $1 }
            return row.shown(try resolve(row.isOfStore ? [] : flags, store: row.isOfStore ? flags : [], needed))
        }
        let without = row.environment.filter { !$0.key.hasSuffix("_FILE") }
        #expect(row.shown(try resolve([], without)) == row.standard)
        #expect(try shown([], [row.variable: fromFlag]) == fromFlag)
        #expect(try shown([], [row.variable: fromEnvironment]) == fromEnvironment)
        #expect(try shown([row.flag, fromFlag], [row.variable: fromEnvironment]) == fromFlag)
    }

    @Test(arguments: rows) func `help shows the flag, its variable and its default`(row: Row) {
        let help = row.isOfStore ? StoreOptions.helpMessage(columns: 500) : BaseOptions.helpMessage(columns: 500)
        // The text of a long flag is on a separate line.
        let lines = help.split(separator: "\n")
        let entry = lines.drop { !$0.hasPrefix("  \(row.flag) <") }.prefix(2).joined()
        let standard = row.flag == "--mqtt-ca-file" ? "the system's" : row.standard
        let shown = standard.replacing("session-engine", with: "<executable>")
        #expect(entry.contains("(env: \(row.variable), default: \(shown))"))
    }

    @Test func `an empty variable counts as absent`() throws {
        #expect(try resolve([], ["HTTP_PORT": "", "MQTT_URL": "", "MQTT_PASSWORD_FILE": ""]).httpPort == 0)
    }

    @Test(arguments: [
        (
            ["--http-port", "65536"],
            "--http-port (HTTP_PORT): '65536' is not accepted; expected 0 to 65535; 0 disables it"
        ),
        (["--http-port=-1"], "--http-port (HTTP_PORT): '-1' is not accepted; expected 0 to 65535; 0 disables it"),
        (["--http-host", ""], "--http-host (HTTP_HOST): '' is not accepted; expected an address or a host name"),
        (["--mqtt-version", "4"], "--mqtt-version (MQTT_VERSION): '4' is not accepted; expected 5 or 3.1.1"),
        (
            ["--log-level", "loud"],
            "--log-level (LOG_LEVEL): 'loud' is not accepted; expected trace, debug, info, notice, warning, error or critical"
        ),
        (
            ["--log-name", "a: b"],
            "--log-name (LOG_NAME): 'a: b' is not accepted; expected letters, digits, ., _ and -"
        ),
        (["--log-format", "xml"], "--log-format (LOG_FORMAT): 'xml' is not accepted; expected text or json"),
        (
            ["--mqtt-url", "http://example.org"],
            "--mqtt-url (MQTT_URL): must begin with mqtt:// or mqtts://; expected mqtt://[user@]host[:port][,host[:port]…], or mqtts:// for TLS"
        ),
        (
            ["--mqtt-url", "mqtts://example.org", "--mqtt-cert-file", "/etc/passwd"],
            "--mqtt-cert-file (MQTT_CERT_FILE): requires --mqtt-key-file (MQTT_KEY_FILE)"
        ),
        (
            ["--mqtt-ca-file", "/nowhere/ca.pem"],
            "--mqtt-ca-file (MQTT_CA_FILE): cannot read '/nowhere/ca.pem': No such file or directory"
        ),
        (
            ["--mqtt-ca-file", "/etc/passwd"],
            "--mqtt-url (MQTT_URL): is not TLS, but TLS files are set; use mqtts://…"
        ),
    ]) func `a bad value is refused in one line that names the setting`(flags: [String], line: String) throws {
        let error = #expect(throws: SettingError.self) { try resolve(flags) }
        #expect(error?.description == line)
    }

    @Test(arguments: [
        ("sqlite:", "is not a store URL; expected \(storeURLs)"),
        ("mysql://ann:secret@host", "is not a store URL; expected \(storeURLs)"),
        (
            "postgres://ann:secret@host/db",
            "contains a password; write it to a file and name that in STORE_PASSWORD_FILE; expected \(storeURLs)"
        ),
        (
            "postgresql://ann@host/db",
            "names a server that is not on loopback, which requires --store-ca-file (STORE_CA_FILE)"
        ),
    ]) func `an invalid store URL is refused and not quoted`(url: String, problem: String) throws {
        let error = #expect(throws: SettingError.self) { try resolve([], ["STORE_URL": url]) }
        #expect(error?.description == "--store-url (STORE_URL): \(problem)")
    }

    @Test(arguments: ["", ",", "0", "0g", "FF", "3f-00", "00-", "00-01-02", "00,", "auto,00", "00 - 01", "000"])
    func `an invalid shard list is refused`(text: String) {
        #expect(ShardSelection(text) == nil)
    }

    @Test(arguments: [
        ("00-ff", 256, "00-ff"), ("7f", 1, "7f"), ("80,00-3f", 65, "00-3f,80"), ("00-01,01-03,02", 4, "00-03"),
        ("fe,ff", 2, "fe-ff"), ("00,02,04-04", 3, "00,02,04"), ("auto", 256, "auto"),
    ]) func `a shard list in any order is written as ranges`(
        text: String, count: Int, written: String
    ) throws {
        let selection = try #require(ShardSelection(text))
        #expect(selection.shards.count == count)
        #expect(selection.description == written)
        #expect(ShardSelection(written) == selection)
    }

    @Test func `only automatic shards are shared as the service says`() throws {
        #expect(try #require(ShardSelection("auto")).plan(.single) == .single)
        #expect(try #require(ShardSelection("00-01")).plan(.single) == .shards([Shard(0), Shard(1)]))
    }

    @Test func `a client id ends in the random bits of the instance`() throws {
        let configuration = try resolve()
        #expect(configuration.mqtt.clientID == "session-engine-\(configuration.instance.description.suffix(16))")
        #expect(try configuration.instance != resolve().instance)
    }

    @Test func `the reply address shares no random bits with the client id, and each process draws its own`() throws {
        let configuration = try resolve()
        let bits = configuration.client.description.suffix(16)
        #expect(configuration.client.description == "session-engine-\(bits)")
        #expect(!configuration.mqtt.clientID.hasSuffix(bits))
        #expect(try configuration.client != resolve().client)
    }
}
