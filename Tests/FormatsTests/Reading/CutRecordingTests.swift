import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

private typealias Fixture = TrackFixture

/// Recordings that end early.
@Suite struct CutRecordingTests {
    private static let gpx = Array(
        Fixture.gpx(
            totals: ["Distance": 9_000, "TimerTime": 900],
            [
                (0..<5).map { Fixture.point(Double($0), latitude: 47.2 + Double($0) * 1e-5, "<hr>12\($0)</hr>") },
                (20..<24).map { Fixture.point(Double($0), latitude: 47.21 + Double($0) * 1e-5, "<note>läuft</note>") },
            ]
        ).utf8)
    private static let tcx = Array(
        Fixture.tcx([
            Fixture.lap(
                0, duration: 4, distance: 12, [(0..<5).map { Fixture.trackpoint(Double($0), distance: Double($0) * 3) }]
            ),
            Fixture.lap(
                5, duration: 90, distance: 900,
                [(5..<9).map { Fixture.trackpoint(Double($0), distance: Double($0) * 3) }]),
        ]).utf8)
    private static let fit = FITFixture.workout(start: 1_700_000_000, duration: 12, pauses: [4...8])

    private func read(_ bytes: some Sequence<UInt8>, _ folder: TemporaryFolder) throws -> [RecordingFile] {
        let path = folder.file("recording")
        try Data(bytes).write(to: URL(filePath: path))
        return try RecordingFile.all(path: path)
    }

    /// The samples without the energy, which belongs to whole laps, and without a distance of 0, which alone is no measured one.
    private func measured(_ file: RecordingFile) -> [Sample] {
        file.recording.samples.map { sample in
            var sample = sample
            sample[.activeEnergy] = nil
            if sample[.distance] == 0 { sample[.distance] = nil }
            return sample
        }
    }

    @Test(arguments: [(gpx, "</trkpt>"), (tcx, "</Trackpoint>")])
    func `a track cut at any byte is read up to its last whole point`(bytes: [UInt8], tag: String) throws {
        let folder = try TemporaryFolder()
        let whole = try read(bytes, folder)[0]
        #expect(whole.cut == nil)
        var found = 0
        for count in bytes.indices {
            let text = String(decoding: bytes.prefix(count), as: UTF8.self)
            let points = text.ranges(of: tag).count
            guard points > 0 else {
                // A lap with a time is a workout without points.
                let files = try? read(bytes.prefix(count), folder)
                #expect(files?.allSatisfy { measured($0).count <= 1 } ?? true, "first \(count) bytes")
                continue
            }
            let file = try read(bytes.prefix(count), folder)[0]
            #expect(measured(file) == Array(measured(whole).prefix(points)), "first \(count) bytes")
            #expect(file.recording.locations == Array(whole.recording.locations.prefix(points)))
            // After the last point nothing of the workout is missing but its end.
            #expect(file.cut?.hasPrefix("line ") == true || text.contains("</trk>") || text.contains("</Activity>"))
            // It has no totals that contain the missing part.
            if file.cut != nil { #expect(file.recording.totals == RecordedTotals()) }
            #expect(file.recording.end <= whole.recording.end && !file.recording.steps.isEmpty)
            found = max(found, points)
        }
        #expect(found == 9)
    }

    @Test func `a FIT file cut at any byte is read up to its last whole record`() throws {
        let folder = try TemporaryFolder()
        let whole = try read(Self.fit, folder)[0]
        var count = 0
        for length in Self.fit.indices {
            guard let file = try? read(Self.fit.prefix(length), folder)[0] else {
                #expect(count == 0, "first \(length) bytes")
                continue
            }
            #expect(file.recording.samples.count >= count && file.cut?.hasPrefix("byte ") == true)
            count = file.recording.samples.count
            #expect(file.recording.locations == Array(whole.recording.locations.prefix(count)))
            #expect(!file.recording.steps.isEmpty)
        }
        #expect(count == whole.recording.samples.count)
    }

    @Test func `a thousand damaged and cut files are read or refused`() throws {
        let folder = try TemporaryFolder()
        var random = SeededRandom()
        var readable = 0
        for round in 0..<1_000 {
            var bytes = [Self.gpx, Self.tcx, Self.fit][round % 3]
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let index = bytes.indices.randomElement(using: &random)!
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                default: bytes.removeSubrange(index..<min(bytes.count, index + 20))
                }
            }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
            do {
                for file in try read(bytes, folder) {
                    readable += 1
                    #expect(!file.recording.steps.isEmpty, "seed \(random.seed)")
                }
            } catch {
                #expect(error is RecordingFile.Problem, "seed \(random.seed)")
            }
        }
        // Without readable files the test proves nothing.
        #expect(readable > 100, "seed \(random.seed)")
    }

    @Test func `a track that names no activity takes the one that is given`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(
            Fixture.gpx(type: nil, [[Fixture.point(0, "<cad>80</cad>"), Fixture.point(1)]]), to: "run.gpx")
        let unnamed = try RecordingFile(path: path)
        #expect(!unnamed.namesActivity && unnamed.recording.activity == .other)
        let run = try RecordingFile.all(path: path, unnamed: .running)[0]
        #expect(run.recording.activity == .running && run.recording.samples[0][.cadence] == 160)
        #expect(run.fingerprint != unnamed.fingerprint)
        let named = try folder.write(Fixture.gpx(type: "cycling", [[Fixture.point(0)]]), to: "ride.gpx")
        #expect(try RecordingFile.all(path: named, unnamed: .running)[0].recording.activity == .cycling)
    }

    @Test func `a TCX file of Strava begins with blanks, and its Other names no activity`() throws {
        let points = (0..<9).map { second in
            "<Trackpoint><Time>2026-05-03T08:00:0\(second)Z</Time><DistanceMeters>\(second)</DistanceMeters></Trackpoint>"
        }
        let text = """
                      <?xml version="1.0" encoding="UTF-8"?>
            <TrainingCenterDatabase><Activities><Activity Sport="Other"><Lap StartTime="2026-05-03T08:00:00Z">
            <Track>\(points.joined())</Track></Lap></Activity></Activities></TrainingCenterDatabase>
            """
        for blanks in ["", "          ", "\n\r\t "] {
            let file = try RecordingFile.all(in: Data((blanks + text).utf8), unnamed: .swimming)[0]
            #expect(file.recording.activity == .swimming && file.recording.samples.count == 9 && !file.namesActivity)
        }
    }
}
