import Foundation

/// `weather_server.py`: a scripted weather provider on a free loopback port.
package final class WeatherServer: Sendable {
    package struct Request: Decodable {
        package let path: String
        package let query: String
        /// By lowercase names.
        package let headers: [String: String]
    }

    private let server: ScriptedServer

    package var url: String { "http://127.0.0.1:\(server.port)" }

    /// - Parameter steps: the answer to each request as a JSON object.
    package init(_ steps: String...) async throws {
        server = try await ScriptedServer("weather_server.py", steps)
    }

    /// Replaces the script for the following requests.
    package func script(_ steps: String...) throws {
        try server.script(steps)
    }

    /// All requests so far.
    package var requests: [Request] {
        get throws { try server.lines("requests") }
    }

    /// Closes the port.
    package func stop() {
        server.stop()
    }
}
