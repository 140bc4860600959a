import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Every recording of the folder `RECORDINGS_DIR`, uploaded through the whole system.
@Suite(.serialized, .disabled(if: recordings == nil, "RECORDINGS_DIR is not set"))
struct ImportTests {
    @Test(.timeLimit(.minutes(60)))
    func `imported files are the workouts that a replay makes of them, each once, while importer is killed`()
        async throws
    {
        var random = SeededRandom()
        let folder = try #require(recordings)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map {
            folder.appending(path: $0).path(percentEncoded: false)
        }
        let installation = try await Installation(services: [.engine, .aggregator, .router, .importer])
        let (log, again) = (installation.folder.file("import.log"), installation.folder.file("again.log"))
        let upload = try installation.pacebus(["import"] + files + ["--user", "ann"], log: log)
        // In the middle of each file, once or twice.
        for done in 0..<files.count {
            _ = await eventually(within: .seconds(60)) { Self.sessions(log).count >= done }
            for _ in 0..<Int.random(in: 1...2, using: &random) { try installation.kill(.importer) }
        }
        #expect(await upload.finish() == 0, "\(Self.text(log))")
        for file in files {
            let device = try Installation.run(
                "device",
                [
                    "replay", file, "--speed-up", "0", "--user", "ben", "--queue-folder",
                    installation.folder.file("queue"), "--mqtt-url", "mqtt://127.0.0.1:\(installation.broker.port)",
                ], log: installation.folder.file("device.log"))
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
        }
        let imported = try await Self.history("ann", installation)
        #expect(imported == (try await Self.history("ben", installation)))
        #expect(imported.count == 12)

        // The same files again: the same sessions, and no other workout.
        let second = try installation.pacebus(["import"] + files + ["--user", "ann"], log: again)
        #expect(await second.finish() == 0)
        #expect(Self.sessions(again) == Self.sessions(log))
        #expect(try await Self.history("ann", installation) == imported)
    }

    private static func text(_ log: String) -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    private static func sessions(_ log: String) -> [String] {
        text(log).split(separator: "\n").filter { $0.contains(": session") }.map(String.init)
    }

    /// The user's workouts with their totals, without the ids of their sessions.
    private static func history(_ user: String, _ installation: Installation) async throws -> [String] {
        let log = installation.folder.file("\(UUID().uuidString).log")
        let command = try installation.pacebus(["history", "--limit", "100", "--user", user], log: log)
        #expect(await command.finish() == 0)
        return text(log).split(separator: "\n").map { String($0.dropFirst(36)) }
    }
}

private let recordings = ProcessInfo.processInfo.environment["RECORDINGS_DIR"].map { URL(filePath: $0) }
