import Foundation
import TestSupport
import Testing
import Workouts

/// Every recording of the folder `RECORDINGS_DIR`, played through the whole system.
@Suite(.serialized, .disabled(if: recordings == nil, "RECORDINGS_DIR is not set"))
struct ReplayTotalsTests {
    /// The number of activities of each file, and what may differ from the file's totals by more than 1 %.
    private static let known: [(file: String, activities: Int, different: String?)] = [
        ("four-activities.tcx", 4, nil), ("open-water-swim.fit", 1, nil),
        // The session's own average leaves out the rests at the wall; the laps' averages have them.
        ("pool-swim-hr-messages.fit", 1, "average heart rate 128 bpm, in the file 131 bpm"),
        ("pool-swim-lengths.fit", 1, nil),
        ("ride-39km-with-pauses.fit", 1, nil),
        ("run-10km-laps.fit", 1, nil), ("run-5km.fit", 1, nil), ("run-8km.gpx", 1, nil), ("walk-700m.fit", 1, nil),
    ]

    @Test(.timeLimit(.minutes(60)))
    func `a replay ends with the file's totals, within 1 %`() async throws {
        let folder = try #require(recordings)
        let installation = try await Installation()
        for known in Self.known {
            let log = installation.folder.file("\(known.file).log")
            let device = try Installation.run(
                "device",
                [
                    "replay", folder.appending(path: known.file).path(percentEncoded: false), "--speed-up", "0",
                    "--queue-folder", installation.folder.file("queue"),
                    "--mqtt-url", "mqtt://demo@127.0.0.1:\(installation.broker.port)",
                ], log: log)
            let status = await device.finish()
            let text = try String(contentsOfFile: log, encoding: .utf8)
            #expect(status == 0, "\(text)")
            let lines = text.split(separator: "\n")
            #expect(lines.count { $0.hasPrefix("session ") } == known.activities, "\(text)")
            let differences = lines.filter { $0.contains("more than 1 % off") }.map(String.init)
            #expect(differences == (known.different.map { ["more than 1 % off: \($0)"] } ?? []), "\(known.file)")
        }
    }
}

private let recordings = ProcessInfo.processInfo.environment["RECORDINGS_DIR"].map { URL(filePath: $0) }
