import Foundation

/// `apns_server.py`: a scripted APNs on a free loopback port.
package final class APNsServer: Sendable {
    package struct Request: Decodable, Sendable {
        /// Unix seconds.
        package let at: Double
        /// The number of its connection, from 1.
        package let connection: Int
        package let path: String
        package let device: String?
        /// The number of its provider token among the different ones, from 1.
        package let token: Int
        /// By lowercase names, without the authorization.
        package let headers: [String: String]
        package let payload: Payload?
        package let notification: Notification?
        /// The status of the answer.
        package let status: Int?
        package let reason: String?
        /// The deviation from the documented protocol.
        package let error: String?
    }

    package static let keyID = "KEY1234567"
    package static let teamID = "TEAM123456"
    package static let bundleID = "org.example.workouts"

    /// Whether the interpreter in `PYTHON` lacks the server's modules.
    package static let isMissing = Python.lacks("cryptography, h2, jwt")

    private let server: ScriptedServer

    package var port: UInt16 { server.port }
    package var url: String { "https://127.0.0.1:\(server.port)" }
    /// The private key that signs accepted tokens, in Apple's format.
    package var keyFile: String { server.folder.file("AuthKey.p8") }
    /// The authority of its certificate.
    package var caFile: String { server.folder.file("certificate.pem") }

    /// - Parameter steps: the answer to each request as a JSON object; `{}` answers as documented.
    package init(_ steps: String...) async throws {
        server = try await ScriptedServer("apns_server.py", steps)
    }

    /// Replaces the script for the following requests.
    package func script(_ steps: String...) throws {
        try server.script(steps)
    }

    /// All requests so far.
    package var requests: [Request] {
        get throws { try server.lines("requests") }
    }

    /// The number of connections so far.
    package var connections: Int {
        get throws { try (server.lines("connections") as [Int]).count }
    }

    /// The server's output: its own failures and the clients' HTTP/2 errors.
    package var log: String {
        get throws { try String(contentsOfFile: server.folder.file("log"), encoding: .utf8) }
    }

    /// Closes the port.
    package func stop() {
        server.stop()
    }

    /// Listens on the same port again after ``stop()``.
    package func start() async throws {
        try await server.start()
    }
}
