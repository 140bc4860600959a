import Foundation
import MQTT
import TestSupport
import Testing

/// The dashboard's `/mqtt` and what strangers do to it, with a real broker, its rules and session-engine.
@Suite(
    .timeLimit(.minutes(60)), .disabled(if: Python.lacks("h2"), "PYTHON has no h2"),
    .enabled(if: ProcessInfo.processInfo.environment["WEB_FOLDER"] != nil, "needs WEB_FOLDER"))
struct DashboardBusTests {
    @Test func `a page uses its own cookie and no other, and abuse ends the abuser's connections alone`() async throws {
        var random = SeededRandom()
        let compose = try ComposeFolder()
        var passwords: [String: String] = [:]
        for user in ["anna", "ben"] { passwords[user] = try await compose.addAccount(user).value }
        try await compose.needAccounts()
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        let engine = try compose.start("session-engine", on: broker)
        defer { engine.end(SIGTERM) }
        let web = ProcessInfo.processInfo.environment["WEB_FOLDER"]
        func dashboard(_ arguments: [String] = []) async throws -> DashboardProcess {
            try await DashboardProcess(
                in: compose.folder, broker: "mqtt://_dashboard@127.0.0.1:\(broker.port)",
                environment: ["MQTT_PASSWORD_FILE=\(compose.folder.file("data/secrets/_dashboard"))"],
                arguments: arguments, webFolder: web)
        }
        let tls = ["tls.crt", "tls.key"].map(compose.folder.file)
        try await ChildProcess.run(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                "1",
                "-subj", "/CN=127.0.0.1", "-keyout", tls[1], "-out", tls[0],
            ], log: compose.folder.file("openssl.log"))
        let (plain, secured) = (
            try await dashboard(), try await dashboard(["--tls-cert-file", tls[0], "--tls-key-file", tls[1]])
        )
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "dashboard_bus.py").path
        let output = try await ChildProcess.output(of: [
            "bash", "-c", "printf '%s\\n' \"$0\" | \"$@\"",
            String(decoding: try JSONEncoder().encode(passwords), as: UTF8.self), Python.interpreter, program,
            "\(plain.port)", "\(secured.port)", "\(plain.id)", "\(random.next() >> 1)",
        ])
        #expect(
            String(decoding: output, as: UTF8.self) == """
                handshakes
                packets
                cookies
                crowds
                stalls
                pipelines
                noise
                end

                """, "\(plain.log)")
    }
}
