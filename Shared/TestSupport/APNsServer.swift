import Foundation
import Synchronization

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
        package let flaw: String?
    }

    private struct NotInTime: Error {}

    package static let keyID = "KEY1234567"
    package static let teamID = "TEAM123456"
    package static let bundleID = "org.example.workouts"

    private static let interpreter = ProcessInfo.processInfo.environment["PYTHON"] ?? "python3"
    /// Whether the interpreter that `PYTHON` names lacks what the server is made of.
    package static let isMissing = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [interpreter, "-c", "import cryptography, h2, jwt"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return true }
        process.waitUntilExit()
        return process.terminationStatus != 0
    }()

    package let port: UInt16
    private let folder: TemporaryFolder
    private let process: Mutex<ChildProcess>

    package var url: String { "https://127.0.0.1:\(port)" }
    /// The private key whose tokens it takes, as Apple hands it out.
    package var keyFile: String { folder.file("AuthKey.p8") }
    /// Who may sign its certificate.
    package var caFile: String { folder.file("certificate.pem") }

    /// - Parameter steps: how it answers one request after the other, each a JSON object; `{}` for as documented.
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
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "apns_server.py")
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
        get throws {
            guard FileManager.default.fileExists(atPath: folder.file("requests")) else { return [] }
            let decoder = JSONDecoder()
            // What stands behind the last line end is being written.
            return try Data(contentsOf: URL(filePath: folder.file("requests")))
                .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
                .map { try decoder.decode(Request.self, from: $0) }
        }
    }

    /// How many connections were made to it so far.
    package var connections: Int {
        get throws {
            guard FileManager.default.fileExists(atPath: folder.file("connections")) else { return 0 }
            return try String(contentsOfFile: folder.file("connections"), encoding: .utf8).split(separator: "\n").count
        }
    }

    /// What it printed: faults of its own, and of the clients' HTTP/2.
    package var log: String {
        get throws { try String(contentsOfFile: folder.file("log"), encoding: .utf8) }
    }

    /// Nobody listens on its port any more.
    package func stop() {
        process.withLock { $0.end(SIGKILL) }
    }

    /// Listens on its port again after `stop`.
    package func start() async throws {
        let process = try Self.start(folder)
        self.process.withLock { $0 = process }
        guard await eventually({ LoopbackSocket.accepts(port: port) }) else { throw NotInTime() }
    }
}
