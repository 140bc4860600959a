import Foundation

/// `weather_server.py`: a provider on a free port of the loopback, as a test scripts it.
package final class WeatherServer: Sendable {
    package struct Request: Decodable {
        package let path: String
        package let query: String
        /// By names in lower case.
        package let headers: [String: String]
    }

    private struct NotInTime: Error {}

    package let url: String
    private let folder: TemporaryFolder
    private let process: ChildProcess

    /// - Parameter steps: how it answers one request after the other, each a JSON object.
    package init(_ steps: String...) async throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        try Self.write(steps, to: folder)
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "weather_server.py")
        let interpreter = ProcessInfo.processInfo.environment["PYTHON"] ?? "python3"
        process = try ChildProcess(
            [interpreter, script.path(percentEncoded: false), folder.path], log: folder.file("log"))
        let portFile = folder.file("port")
        guard await eventually({ FileManager.default.fileExists(atPath: portFile) }) else { throw NotInTime() }
        url = "http://127.0.0.1:\(try String(contentsOfFile: portFile, encoding: .utf8))"
    }

    /// From now on requests are answered like this.
    package func script(_ steps: String...) throws {
        try Self.write(steps, to: folder)
    }

    private static func write(_ steps: [String], to folder: TemporaryFolder) throws {
        let text = "{\"id\":\"\(UUID())\",\"steps\":[\(steps.joined(separator: ","))]}"
        try Data(text.utf8).write(to: URL(filePath: folder.file("script.json")), options: .atomic)
    }

    /// Everything it was asked so far.
    package var requests: [Request] {
        get throws {
            guard FileManager.default.fileExists(atPath: folder.file("requests")) else { return [] }
            return try String(contentsOfFile: folder.file("requests"), encoding: .utf8)
                .split(separator: "\n").map { try JSONDecoder().decode(Request.self, from: Data($0.utf8)) }
        }
    }

    /// Nobody listens on its port any more.
    package func stop() {
        process.end(SIGKILL)
    }
}
