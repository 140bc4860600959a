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
        try await Self.replay(files, as: "ben", installation)
        let imported = try await Self.history("ann", installation)
        #expect(imported == (try await Self.history("ben", installation)))
        #expect(imported.count == 12)

        // The same files again: the same sessions, and no other workout.
        let second = try installation.pacebus(["import"] + files + ["--user", "ann"], log: again)
        #expect(await second.finish() == 0)
        #expect(Self.sessions(again) == Self.sessions(log))
        #expect(try await Self.history("ann", installation) == imported)
    }
}

/// Generated recordings, uploaded while everything dies.
struct ImportKillTests {
    @Test(.timeLimit(.minutes(60)))
    func `imported files are workouts, each once, while services and the broker are killed`() async throws {
        var random = SeededRandom()
        let installation = try await Installation(services: [.engine, .aggregator, .router, .importer])
        let count = Tier.isNightly ? 50 : 5
        let files = try (0..<count).map { day in
            let path = installation.folder.file("\(day).gpx")
            try Self.recording(day, &random).write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }
        let log = installation.folder.file("import.log")
        let upload = try installation.pacebus(["import"] + files + ["--user", "ann"], log: log)
        let services = [Installation.Service.importer, .engine, .aggregator, .router]
        for done in 0..<count {
            _ = await eventually(within: .seconds(60)) { ImportTests.sessions(log).count >= done }
            for victim in (services.map(Optional.some) + [nil]).shuffled(using: &random).prefix(2) {
                if let victim {
                    try installation.kill(victim)
                } else {
                    installation.broker.kill()
                    try await installation.broker.start()
                }
            }
        }
        #expect(await upload.finish() == 0, "\(ImportTests.text(log))")
        let imported = try await ImportTests.history("ann", installation)
        #expect(imported.count == count)
        try await ImportTests.replay(files, as: "ben", installation)
        #expect(imported == (try await ImportTests.history("ben", installation)))
    }

    /// A run of some minutes in GPX, each on another day.
    private static func recording(_ day: Int, _ random: inout SeededRandom) -> String {
        let start = Date(timeIntervalSince1970: 1_790_000_000 + Double(day) * 86_400)
        var longitude = 13.1
        let points = (0..<Int.random(in: 120...600, using: &random)).map { second in
            longitude += .random(in: 0...0.00008, using: &random)
            let heartRate = Int.random(in: 90...170, using: &random)
            return "<trkpt lat=\"52.5\" lon=\"\(longitude)\"><ele>\(40 + second % 7)</ele>"
                + "<time>\((start + Double(second)).formatted(.iso8601))</time>"
                + "<extensions><hr>\(heartRate)</hr></extensions></trkpt>"
        }
        return "<gpx><trk><type>running</type><trkseg>\(points.joined())</trkseg></trk></gpx>"
    }
}

extension ImportTests {
    fileprivate static func replay(_ files: [String], as user: String, _ installation: Installation) async throws {
        for file in files {
            let device = try Installation.run(
                "device",
                [
                    "replay", file, "--speed-up", "0", "--user", user, "--queue-folder",
                    installation.folder.file("queue"), "--mqtt-url", "mqtt://127.0.0.1:\(installation.broker.port)",
                ], log: installation.folder.file("device.log"))
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
        }
    }

    fileprivate static func text(_ log: String) -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    fileprivate static func sessions(_ log: String) -> [String] {
        text(log).split(separator: "\n").filter { $0.contains(": session") }.map(String.init)
    }

    /// The user's workouts with their totals, without the ids of their sessions.
    fileprivate static func history(_ user: String, _ installation: Installation) async throws -> [String] {
        let log = installation.folder.file("\(UUID().uuidString).log")
        let command = try installation.pacebus(["history", "--limit", "100", "--user", user], log: log)
        #expect(await command.finish() == 0)
        return text(log).split(separator: "\n").map { String($0.dropFirst(36)) }
    }
}

private let recordings = ProcessInfo.processInfo.environment["RECORDINGS_DIR"].map { URL(filePath: $0) }
