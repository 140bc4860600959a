import Foundation
import MQTT
import TestSupport
import Testing

/// What the executables say when they cannot connect, and when a setting names the wrong place.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ConnectionErrorTests {
    private let compose: ComposeFolder

    init() throws {
        compose = try ComposeFolder()
    }

    /// Starts an executable with the password in a file.
    private func start(_ name: String, _ arguments: [String], password: String, log: String) throws -> ChildProcess {
        let file = try compose.folder.write(password, to: "\(log).password")
        chmod(file, 0o600)
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let executable = URL(filePath: tests).deletingLastPathComponent().appending(path: name).path
        return try ChildProcess(
            ["env", "MQTT_PASSWORD_FILE=\(file)", executable] + arguments, log: compose.folder.file(log))
    }

    private func text(_ log: String) -> String {
        (try? String(contentsOfFile: compose.folder.file(log), encoding: .utf8)) ?? ""
    }

    @Test func `a refused login ends a command at once and names the settings; a service logs it and continues`()
        async throws
    {
        let password = try await compose.addAccount("anna").value
        try await compose.needAccounts("_exporter")
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        let url = "mqtt://anna@127.0.0.1:\(broker.port)"
        for (index, command) in [["pacebus", "status"], ["device", "simulate"]].enumerated() {
            let process = try start(
                command[0], [command[1], "--mqtt-url", url], password: "wrong", log: "refused-\(index)")
            #expect(await process.finish() == 1)
            #expect(
                text("refused-\(index)").contains("cannot connect to \(url): refused by the broker: Not authorized"))
            #expect(text("refused-\(index)").contains("MQTT_PASSWORD_FILE"))
        }
        let service = try start(
            "exporter",
            [
                "--mqtt-url", "mqtt://_exporter@127.0.0.1:\(broker.port)", "--store-url",
                "sqlite:\(compose.folder.file("exporter.sqlite"))",
            ], password: "wrong", log: "exporter")
        #expect(
            await eventually { text("exporter").contains("error exporter: login refused, check user and password") })
        service.end(SIGTERM)
        #expect(!text("exporter").contains("Error:"))

        // TLS without the authority's certificate, then with it.
        let secure = "mqtts://anna@127.0.0.1:\(broker.tlsPort)"
        let untrusted = try start("pacebus", ["plans", "--mqtt-url", secure], password: password, log: "untrusted")
        #expect(await untrusted.finish() == 1)
        #expect(text("untrusted").contains("TLS handshake failed"))
        #expect(text("untrusted").contains("--mqtt-ca-file (MQTT_CA_FILE)"))
        let authority = compose.folder.file("data/tls/ca.crt")
        let trusted = try start(
            "pacebus", ["follow", "--mqtt-url", secure, "--mqtt-ca-file", authority, "--log-level", "debug"],
            password: password, log: "trusted")
        defer { trusted.end(SIGKILL) }
        let haproxy = compose.folder.file("data/log/mosquitto.log")
        #expect(
            await eventually {
                ((try? String(contentsOfFile: haproxy, encoding: .utf8)) ?? "").contains("as pacebus-")
            })
    }

    @Test func `a store in a folder that does not exist is an error`() async throws {
        let store = compose.folder.file("mistyped/exporter.sqlite")
        let process = try start(
            "exporter", ["--mqtt-url", "mqtt://_exporter@127.0.0.1:1", "--store-url", "sqlite:\(store)"],
            password: "any", log: "exporter")
        #expect(await process.finish() == 1)
        let folder = compose.folder.file("mistyped")
        #expect(
            text("exporter").contains(
                "the store's folder \(folder) does not exist; create it, or correct --store-url (STORE_URL)"))
    }
}
