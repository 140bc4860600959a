import Foundation

/// `weather_server.py`: a provider on a free port of the loopback, as a test scripts it.
package final class WeatherServer: Sendable {
    package struct Request: Decodable {
        package let path: String
        package let query: String
        /// By names in lower case.
        package let headers: [String: String]
    }

    private let server: ScriptedServer

    package var url: String { "http://127.0.0.1:\(server.port)" }

    /// - Parameter steps: how it answers one request after the other, each a JSON object.
    package init(_ steps: String...) async throws {
        server = try await ScriptedServer("weather_server.py", steps)
    }

    /// From now on requests are answered like this.
    package func script(_ steps: String...) throws {
        try server.script(steps)
    }

    /// Everything it was asked so far.
    package var requests: [Request] {
        get throws { try server.lines("requests") }
    }

    /// Nobody listens on its port any more.
    package func stop() {
        server.stop()
    }
}
