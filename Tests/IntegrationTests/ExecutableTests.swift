import Foundation
import TestSupport
import Testing
import Workouts

/// The executables as processes.
@Suite struct ExecutableTests {
    @Test func `each executable prints its version`() async throws {
        let folder = try TemporaryFolder()
        let common = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../compose/common.sh")
            .standardizedFileURL.path(percentEncoded: false)
        try await ChildProcess.run(
            ["bash", "-c", "source \(common) && echo ${executables[@]}"], log: folder.file("executables"))
        let names = try String(contentsOfFile: folder.file("executables"), encoding: .utf8)
            .split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(names.contains("pacebus"))
        for name in names {
            let process = try Installation.run(name, ["--version"], log: folder.file(name))
            #expect(await process.finish() == 0, "\(name)")
            #expect(try String(contentsOfFile: folder.file(name), encoding: .utf8) == "\(pacebusVersion)\n", "\(name)")
        }
    }

    @Test func `a command that Ctrl-C interrupts exits with 130`() async throws {
        let folder = try TemporaryFolder()
        let log = folder.file("log")
        let process = try Installation.run(
            "pacebus",
            [
                "export", "11111111-2222-4333-8444-123456789abc", "--user", "ann", "--mqtt-url", "mqtt://127.0.0.1:1",
                "--output", folder.file("run.fit"),
            ], log: log)
        func text() -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
        #expect(await eventually { text().contains("waiting for the exporter") })
        process.send(SIGINT)
        #expect(await process.finish() == 130)
        #expect(text().hasSuffix("interrupted\n"))
    }

    /// PostgreSQL's library as an empty file, which the loader finds first.
    @Test func `without libpq a service runs on SQLite, and names the package that PostgreSQL needs`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "libpq.so.5")
        let port = try LoopbackSocket.freePort()
        func start(store: String, log: String) throws -> ChildProcess {
            try Installation.run(
                "route-builder",
                ["--store-url", store, "--mqtt-url", "mqtt://127.0.0.1:1", "--http-port", "\(port)"],
                environment: ["LD_LIBRARY_PATH=\(folder.path)"], log: folder.file(log))
        }
        func text(_ log: String) -> String { (try? String(contentsOfFile: folder.file(log), encoding: .utf8)) ?? "" }
        let service = try start(store: "sqlite:\(folder.file("store.sqlite"))", log: "sqlite")
        let isRunning = await eventually(within: .seconds(60)) { LoopbackSocket.accepts(port: port) }
        #expect(isRunning, "\(text("sqlite"))")
        service.end(SIGTERM)
        let other = try start(store: "postgres://route-builder@127.0.0.1:1/pacebus", log: "postgres")
        #expect(await other.finish() == 1)
        #expect(text("postgres").contains("libpq.so.5: file too short; PostgreSQL needs Debian's package libpq5"))
    }
}
