import Foundation

/// `apns_server.py`: APNs on a free port of the loopback, as a test scripts it.
package final class APNsServer: Sendable {
    package struct Request: Decodable, Sendable {
        /// Unix seconds.
        package let at: Double
        /// Which connection it came on, from 1.
        package let connection: Int
        package let path: String
        package let device: String?
        /// Which of the different provider tokens it had, from 1.
        package let token: Int
        /// By names in lower case, without the authorization.
        package let headers: [String: String]
        package let payload: Payload?
        /// What it was answered.
        package let status: Int?
        package let reason: String?
        /// What was not as documented.
        package let error: String?
    }

    package static let keyID = "KEY1234567"
    package static let teamID = "TEAM123456"
    package static let bundleID = "org.example.workouts"

    /// Whether the interpreter that `PYTHON` names lacks what the server is made of.
    package static let isMissing = Python.lacks("cryptography, h2, jwt")

    private let server: ScriptedServer

    package var port: UInt16 { server.port }
    package var url: String { "https://127.0.0.1:\(server.port)" }
    /// The private key whose tokens it takes, as Apple hands it out.
    package var keyFile: String { server.folder.file("AuthKey.p8") }
    /// Who may sign its certificate.
    package var caFile: String { server.folder.file("certificate.pem") }

    /// - Parameter steps: how it answers one request after the other, each a JSON object; `{}` for as documented.
    package init(_ steps: String...) async throws {
        server = try await ScriptedServer("apns_server.py", steps)
    }

    /// From now on requests are answered like this.
    package func script(_ steps: String...) throws {
        try server.script(steps)
    }

    /// Everything it was asked so far.
    package var requests: [Request] {
        get throws { try server.lines("requests") }
    }

    /// How many connections were made to it so far.
    package var connections: Int {
        get throws { try (server.lines("connections") as [Int]).count }
    }

    /// What it printed: faults of its own, and of the clients' HTTP/2.
    package var log: String {
        get throws { try String(contentsOfFile: server.folder.file("log"), encoding: .utf8) }
    }

    /// Nobody listens on its port any more.
    package func stop() {
        server.stop()
    }

    /// Listens on its port again after ``stop()``.
    package func start() async throws {
        try await server.start()
    }
}
