import Foundation
import Synchronization

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

    private struct NotInTime: Error {}

    package let port: UInt16
    private let folder: TemporaryFolder
    private let process: Mutex<ChildProcess>

    package var url: String { "http://127.0.0.1:\(port)/uploads" }

    /// - Parameter steps: how it answers one request after the other, each a JSON object.
    package init(_ steps: String...) async throws {
        folder = try TemporaryFolder()
        try Self.write(steps, to: folder)
        let process = try Self.start(folder)
        self.process = Mutex(process)
        let portFile = folder.file("port")
        guard await eventually({ FileManager.default.fileExists(atPath: portFile) }),
            let port = UInt16(try String(contentsOfFile: portFile, encoding: .utf8))
        else { throw NotInTime() }
        self.port = port
    }

    private static func start(_ folder: TemporaryFolder) throws -> ChildProcess {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "upload_server.py")
        let interpreter = ProcessInfo.processInfo.environment["PYTHON"] ?? "python3"
        return try ChildProcess(
            [interpreter, script.path(percentEncoded: false), folder.path], log: folder.file("log"))
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
        get throws { try lines("requests") }
    }

    /// Everything it took so far.
    package var uploads: [Upload] {
        get throws { try lines("stored") }
    }

    /// The file of one of the uploads.
    package func file(_ number: Int) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: folder.file("stored-\(number)"))))
    }

    private func lines<Line: Decodable>(_ name: String) throws -> [Line] {
        guard FileManager.default.fileExists(atPath: folder.file(name)) else { return [] }
        return try String(contentsOfFile: folder.file(name), encoding: .utf8)
            .split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    /// Nobody listens on its port any more.
    package func stop() {
        process.withLock { $0.end(SIGKILL) }
    }

    /// Listens on its port again after `stop`, and knows what it took.
    package func start() async throws {
        let process = try Self.start(folder)
        self.process.withLock { $0 = process }
        guard await eventually({ LoopbackSocket.accepts(port: port) }) else { throw NotInTime() }
    }
}
