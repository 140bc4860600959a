import Foundation

/// `upload_server.py`: a place that takes uploads, on a free port of the loopback, as a test scripts it.
package final class UploadServer: Sendable {
    package struct Request: Decodable {
        package let path: String
        /// By names in lower case.
        package let headers: [String: String]
    }

    /// What it took, once for each key.
    package struct Upload: Decodable {
        package let key: String
        package let filename: String
        package let type: String
        package let name: String
        package let externalID: String

        private enum CodingKeys: String, CodingKey {
            case key, filename, type, name
            case externalID = "external_id"
        }
    }

    private let server: ScriptedServer

    package var port: UInt16 { server.port }
    package var url: String { "http://127.0.0.1:\(server.port)/uploads" }

    /// - Parameter steps: how it answers one request after the other, each a JSON object.
    package init(_ steps: String...) async throws {
        server = try await ScriptedServer("upload_server.py", steps)
    }

    /// From now on requests are answered like this.
    package func script(_ steps: String...) throws {
        try server.script(steps)
    }

    /// Everything it was asked so far.
    package var requests: [Request] {
        get throws { try server.lines("requests") }
    }

    /// Everything it took so far.
    package var uploads: [Upload] {
        get throws { try server.lines("stored") }
    }

    /// The file of one of the uploads.
    package func file(_ number: Int) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: server.folder.file("stored-\(number)"))))
    }

    /// Nobody listens on its port any more.
    package func stop() {
        server.stop()
    }

    /// Listens on its port again after ``stop()``, and knows what it took.
    package func start() async throws {
        try await server.start()
    }
}
