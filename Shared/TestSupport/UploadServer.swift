import Foundation

/// `upload_server.py`: a scripted upload server on a free loopback port.
package final class UploadServer: Sendable {
    package struct Request: Decodable {
        package let path: String
        /// By lowercase names.
        package let headers: [String: String]
    }

    /// An accepted upload, one per key.
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

    /// - Parameter steps: the answer to each request as a JSON object.
    package init(_ steps: String...) async throws {
        server = try await ScriptedServer("upload_server.py", steps)
    }

    /// Replaces the script for the following requests.
    package func script(_ steps: String...) throws {
        try server.script(steps)
    }

    /// All requests so far.
    package var requests: [Request] {
        get throws { try server.lines("requests") }
    }

    /// All accepted uploads so far.
    package var uploads: [Upload] {
        get throws { try server.lines("stored") }
    }

    /// The file of an upload.
    package func file(_ number: Int) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: server.folder.file("stored-\(number)"))))
    }

    /// Closes the port.
    package func stop() {
        server.stop()
    }

    /// Listens on the same port again after ``stop()`` and keeps the accepted uploads.
    package func start() async throws {
        try await server.start()
    }
}
