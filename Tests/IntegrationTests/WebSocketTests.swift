import Foundation
import MQTT
import TestSupport
import Testing

/// Web apps' way to the broker: paho over WebSocket, at the port of the dashboard.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(if: Python.lacks("paho.mqtt"), "PYTHON has no paho-mqtt"))
struct WebSocketTests {
    @Test(arguments: [([], "ws://"), (["--listen", "127.0.0.1"], "wss://")])
    func `a client connects with its account, and pages of other sites are refused`(
        options: [String], scheme: String
    ) async throws {
        let system = try await ComposeSystem.run(
            nil, options, environment: ["WEBSOCKET_ORIGINS=https://app.example.org"])
        defer { system.process.end(SIGTERM) }
        let folder = system.compose.folder
        let (url, own) = (try system.url("ws"), try system.url("web"))
        #expect(url == own.replacing(/^http/, with: "ws") + "/mqtt" && url.hasPrefix(scheme))
        #expect(system.output.contains(url))
        let password = try await system.compose.addAccount("anna").value
        func connect(origin: String = "", password: String) async throws -> String {
            let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "websocket_client.py")
            let output = try await ChildProcess.output(of: [
                "bash", "-c", "printf '%s\\n' \"$0\" | \"$@\"", password, Python.interpreter, program.path, url,
                "anna", origin, folder.file("data/tls/ca.crt"),
            ])
            return String(decoding: output, as: UTF8.self)
        }
        for origin in ["", own, "https://app.example.org"] {
            #expect(try await connect(origin: origin, password: password) == "received 100000\n", "\(origin)")
        }
        #expect(try await connect(password: "wrong") == "refused Not authorized\n")
        for origin in ["https://evil.example", "http://localhost:8000"] {
            let output = try await connect(origin: origin, password: password)
            #expect(output.hasPrefix("failed"), "\(origin): \(output)")
        }
        let metrics = try await system.get("dashboard", "/metrics")
        #expect(metrics.contains("pacebus_websocket_refused_total{reason=\"origin\"} 2\n"), "\(metrics)")
        if let verdict = try Promtool.check(metrics) { #expect(verdict == "exit 0\n") }
    }

    @Test func `HAProxy counts what it refuses in its metrics`() async throws {
        let system = try await ComposeSystem.run(nil, ["--listen", "127.0.0.1"])
        defer { system.process.end(SIGTERM) }
        let url = try #require(URL(string: try system.url("mqtts")))
        let script = """
            import socket, ssl
            context = ssl._create_unverified_context()
            s = context.wrap_socket(socket.create_connection(("127.0.0.1", \(try #require(url.port)))))
            s.sendall(b"\\x30\\x02\\x00\\x00")
            assert s.recv(10) == b""
            """
        _ = try await ChildProcess.output(of: ["python3", "-c", script])
        let metrics = try await system.get("haproxy", "/metrics")
        #expect(metrics.contains("haproxy_frontend_requests_denied_total{proxy=\"mqtts\"} 1\n"), "\(metrics)")
    }
}
