import Foundation
import MQTT
import TestSupport

/// An installation like that of `compose/up` in its own folder: the repository's `compose`, accounts and a broker.
final class ComposeFolder: Sendable {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let compose = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../compose")
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("compose"), withDestinationPath: compose.standardizedFileURL.path)
    }

    /// Runs a command of the folder to its end and returns its output.
    @discardableResult
    func run(_ command: String, _ arguments: String...) async throws -> String {
        let log = folder.file("\(UUID().uuidString).log")
        try await ChildProcess.run([folder.file("compose/\(command)")] + arguments, log: log)
        return try String(contentsOfFile: log, encoding: .utf8)
    }

    /// Adds a user's account and returns its password.
    func addAccount(_ arguments: String...) async throws -> Secret {
        let log = folder.file("\(UUID().uuidString).log")
        try await ChildProcess.run([folder.file("compose/user"), "add"] + arguments, log: log)
        let words = try String(contentsOfFile: log, encoding: .utf8).split(whereSeparator: \.isWhitespace)
        guard let title = words.firstIndex(of: "password"), words.indices.contains(title + 1),
            let password = words[title...].first(where: { $0.count == 48 })
        else { throw Failure(text: "compose/user showed no password") }
        return Secret(String(password))
    }

    /// Adds services' accounts as `compose/up` does, with their passwords in files.
    func needAccounts(_ names: String...) async throws {
        try await script(names.map { "need_account \($0)" }.joined(separator: "\n"))
    }

    /// The password in an account's file.
    func password(of account: String) throws -> Secret {
        Secret(try String(contentsOfFile: folder.file("data/secrets/\(account)"), encoding: .utf8))
    }

    /// The accounts with rules of their own.
    func accountsWithRules() throws -> Set<String> {
        let rules = try String(contentsOfFile: folder.file("data/broker/access.conf"), encoding: .utf8)
        return Set(rules.split(separator: "\n").filter { $0.hasPrefix("user ") }.map { String($0.dropFirst(5)) })
    }

    /// Adds lines to the broker's access rules. A later change of accounts removes them.
    func addRules(_ rules: String) throws {
        let path = folder.file("data/broker/access.conf")
        try folder.write(String(contentsOfFile: path, encoding: .utf8) + rules, to: "data/broker/access.conf")
    }

    /// A broker like that of `compose/up`, on free loopback ports with and without TLS.
    struct Broker {
        let process: ChildProcess
        let port: UInt16
        let tlsPort: UInt16
    }

    /// Starts the broker with its proxy for TLS and waits until both listen.
    ///
    /// - Parameter logLimit: the bytes at which logs are rotated.
    func startBroker(logLimit: Int = 10 << 20) async throws -> Broker {
        let lines = [
            // As on a usual machine.
            "ulimit -Sn 1024", "log_limit=\(logLimit)",
            "mkdir -p data/log", "need_certificate 127.0.0.1", "trap 'stop 5 haproxy mosquitto' EXIT",
            "trap 'exit 0' TERM",
            "start_broker $((20000 + RANDOM % 10000))", "start_proxy 127.0.0.1 $((ports[mosquitto] + 1))",
            "say \"${ports[mosquitto]} ${ports[mqtts]}\" >data/ports.new",
            "mv data/ports.new data/ports", "while is_running mosquitto; do rotate_logs",
            "if [[ -e data/renew ]]; then",
            "certificate_due=0; renew_certificate; rm data/renew; fi; sleep 0.1; done",
        ]
        let process = try ChildProcess(bash(lines), log: folder.file("broker.log"))
        var ports: [UInt16] = []
        let isListening = await eventually {
            let text = try? String(contentsOfFile: folder.file("data/ports"), encoding: .utf8)
            ports = (text ?? "").split(whereSeparator: \.isWhitespace).compactMap { UInt16($0) }
            return ports.count == 2
        }
        guard isListening else {
            let log = try? String(contentsOfFile: folder.file("broker.log"), encoding: .utf8)
            throw Failure(text: "the broker does not listen: \(log ?? "")")
        }
        return Broker(process: process, port: ports[0], tlsPort: ports[1])
    }

    /// Runs lines of bash with the functions of `compose`, in the folder, and returns what they print.
    @discardableResult
    func shell(_ lines: String) async throws -> String {
        let log = folder.file("\(UUID().uuidString).log")
        let script = try folder.write(
            """
            set -euo pipefail
            cd \(folder.path)
            for name in common processes accounts certificates broker services postgres; do source compose/$name.sh; done
            cd \(folder.path)
            need_data
            mkdir -p data/log
            \(lines)
            """, to: "\(UUID().uuidString).sh")
        try await ChildProcess.run(["bash", script], log: log)
        return try String(contentsOfFile: log, encoding: .utf8)
    }

    /// Runs statements as a service while the folder's PostgreSQL server runs alone, and returns what they print.
    @discardableResult
    func database(_ service: String, _ sql: String) async throws -> String {
        try folder.write(sql, to: "sql")
        return try await shell(
            """
            trap 'stop 60 postgres' EXIT
            start_postgres >/dev/null
            as_role \(service) psql --dbname pacebus -XqAt --set ON_ERROR_STOP=1 --file \(folder.file("sql"))
            """)
    }

    /// Starts a service with its account and a store in the folder.
    func start(_ service: String, on broker: Broker) throws -> ChildProcess {
        try Installation.run(
            service,
            [
                "--mqtt-url", "mqtt://_\(service)@127.0.0.1:\(broker.port)", "--store-url",
                "sqlite:\(folder.file("data/\(service).sqlite"))",
            ], environment: ["MQTT_PASSWORD_FILE=\(folder.file("data/secrets/_\(service)"))"],
            log: folder.file("\(service).log"))
    }

    struct Failure: Error {
        let text: String
    }

    private func script(_ line: String) async throws {
        try await ChildProcess.run(
            bash(["lock_accounts", "prepare_accounts", line, "write_access"]), log: folder.file("script.log"))
    }

    private func bash(_ lines: [String]) -> [String] {
        let sources = ["common", "processes", "accounts", "certificates", "broker"]
        let first =
            ["set -euo pipefail", "cd \(folder.path)"] + sources.map { "source compose/\($0).sh" } + ["need_data"]
        return ["bash", "-c", (first + lines).joined(separator: "\n")]
    }
}
