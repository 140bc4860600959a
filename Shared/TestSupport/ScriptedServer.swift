import Foundation
import Synchronization

/// One of this folder's servers in Python on a free port of the loopback, as a test scripts it. It is handed a folder of its
/// own, which has `script.json`, what it answers, and in which it leaves its `port` and what it was asked.
final class ScriptedServer: Sendable {
    private struct NotInTime: Error {}

    let port: UInt16
    let folder: TemporaryFolder
    private let program: String
    private let process: Mutex<ChildProcess>

    /// - Parameter steps: how it answers one request after the other, each a JSON object.
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

    /// From now on requests are answered like this.
    func script(_ steps: [String]) throws {
        try Self.write(steps, to: folder)
    }

    private static func write(_ steps: [String], to folder: TemporaryFolder) throws {
        let text = "{\"id\":\"\(UUID())\",\"steps\":[\(steps.joined(separator: ","))]}"
        try Data(text.utf8).write(to: URL(filePath: folder.file("script.json")), options: .atomic)
    }

    /// The lines of one of its files so far, each a JSON object; none while there is no file.
    func lines<Line: Decodable>(_ name: String) throws -> [Line] {
        guard FileManager.default.fileExists(atPath: folder.file(name)) else { return [] }
        let decoder = JSONDecoder()
        // What stands behind the last line end is being written.
        return try Data(contentsOf: URL(filePath: folder.file(name)))
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            .map { try decoder.decode(Line.self, from: $0) }
    }

    /// Nobody listens on its port any more.
    func stop() {
        process.withLock { $0.end(SIGKILL) }
    }

    /// Listens on its port again after ``stop()``.
    func start() async throws {
        let process = try Self.start(program, folder)
        self.process.withLock { $0 = process }
        guard await eventually({ LoopbackSocket.accepts(port: port) }) else { throw NotInTime() }
    }
}
