import Foundation
import Synchronization

/// A scripted Python server from this folder on a free loopback port. It receives a folder with `script.json`, its
/// answers, and writes its `port` and its requests there.
final class ScriptedServer: Sendable {
    private struct NotInTime: Error {}

    let port: UInt16
    let folder: TemporaryFolder
    private let program: String
    private let process: Mutex<ChildProcess>

    /// - Parameter steps: the answer to each request as a JSON object.
    init(_ program: String, _ steps: [String]) async throws {
        self.program = program
        folder = try TemporaryFolder()
        try Self.write(steps, to: folder)
        process = Mutex(try Self.start(program, folder))
        let portFile = folder.file("port")
        guard await eventually({ FileManager.default.fileExists(atPath: portFile) }),
            let port = UInt16(try String(contentsOfFile: portFile, encoding: .utf8))
        else { throw NotInTime() }
        self.port = port
    }

    private static func start(_ program: String, _ folder: TemporaryFolder) throws -> ChildProcess {
        try ChildProcess([Python.interpreter, Python.program(program), folder.path], log: folder.file("log"))
    }

    /// Replaces the script for the following requests.
    func script(_ steps: [String]) throws {
        try Self.write(steps, to: folder)
    }

    private static func write(_ steps: [String], to folder: TemporaryFolder) throws {
        let text = "{\"id\":\"\(UUID())\",\"steps\":[\(steps.joined(separator: ","))]}"
        try Data(text.utf8).write(to: URL(filePath: folder.file("script.json")), options: .atomic)
    }

    /// The lines of one of its files so far, each a JSON object; empty without the file.
    func lines<Line: Decodable>(_ name: String) throws -> [Line] {
        guard FileManager.default.fileExists(atPath: folder.file(name)) else { return [] }
        let decoder = JSONDecoder()
        // The text after the last line end is incomplete.
        return try Data(contentsOf: URL(filePath: folder.file(name)))
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            .map { try decoder.decode(Line.self, from: $0) }
    }

    /// Closes the port.
    func stop() {
        process.withLock { $0.end(SIGKILL) }
    }

    /// Listens on the same port again after ``stop()``.
    func start() async throws {
        let process = try Self.start(program, folder)
        self.process.withLock { $0 = process }
        guard await eventually({ LoopbackSocket.accepts(port: port) }) else { throw NotInTime() }
    }
}
