import Foundation
import MQTT
import TestSupport
import Testing

/// Browsers' way to the broker: paho over WebSocket, and connections that abuse it.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(if: Python.lacks("paho.mqtt"), "PYTHON has no paho-mqtt"))
struct WebSocketTests {
    @Test func `a client connects over ws and wss with its account, and pages of other sites are refused`() async throws
    {
        let system = try await ComposeSystem.run(nil, ["--listen", "127.0.0.1"])
        defer { system.process.end(SIGTERM) }
        let folder = system.compose.folder
        let password = try await system.compose.addAccount("anna").value
        func connect(_ listener: String, origin: String = "", password: String) async throws -> String {
            let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "websocket_client.py")
            let output = try await ChildProcess.output(of: [
                "bash", "-c", "printf '%s\\n' \"$0\" | \"$@\"", password, Python.interpreter, program.path,
                try system.url(listener), "anna", origin, folder.file("data/tls/ca.crt"),
            ])
            return String(decoding: output, as: UTF8.self)
        }
        for listener in ["ws", "wss"] {
            #expect(try await connect(listener, password: password) == "received 100000\n", "\(listener)")
            #expect(try await connect(listener, password: "wrong") == "refused Not authorized\n", "\(listener)")
            let evil = try await connect(listener, origin: "https://evil.example", password: password)
            #expect(evil.hasPrefix("failed"), "\(listener): \(evil)")
        }
        let metrics = try await system.get("websocket-gateway", "/metrics")
        #expect(metrics.contains("pacebus_websocket_refused_total{reason=\"origin\"} 2\n"), "\(metrics)")
    }

    @Test func `a connection that announces a huge packet is closed before the broker sees it`() async throws {
        let system = try await ComposeSystem.run()
        defer { system.process.end(SIGTERM) }
        let port = try #require(URL(string: try system.url("ws"))?.port)
        // A CONNECT of 256 MiB, and a PUBLISH, without a login.
        for packet in [#"\x10\xff\xff\xff\x7f\x00\x04MQTT"#, #"\x30\x02\x00\x00"#] {
            let script = """
                import socket
                s = socket.create_connection(("127.0.0.1", \(port)))
                s.settimeout(30)
                s.sendall(b"GET /mqtt HTTP/1.1\\r\\nHost: x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
                    b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\\r\\nSec-WebSocket-Version: 13\\r\\n"
                    b"Sec-WebSocket-Protocol: mqtt\\r\\n\\r\\n")
                assert b"101" in s.recv(4096)
                packet = b"\(packet)"
                s.sendall(bytes([0x82, 0x80 | len(packet), 0, 0, 0, 0]) + packet)
                received = b""
                while part := s.recv(4096): received += part
                print(received.hex())
                """
            let output = try await ChildProcess.output(of: ["python3", "-c", script])
            // A close frame: protocol error.
            #expect(String(decoding: output, as: UTF8.self) == "880203ea\n")
        }
        let metrics = try await system.get("websocket-gateway", "/metrics")
        #expect(metrics.contains("pacebus_websocket_refused_total{reason=\"connect\"} 2\n"), "\(metrics)")
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
        if let verdict = try Promtool.check(try await system.get("websocket-gateway", "/metrics")) {
            #expect(verdict == "exit 0\n")
        }
    }
}
