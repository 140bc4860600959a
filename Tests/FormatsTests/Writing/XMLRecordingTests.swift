import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

/// Recordings of real devices, from the folder `RECORDINGS_DIR`, played and exported.
@Suite struct XMLRecordingTests {
    /// A recording and its known totals: metres and active seconds.
    struct Known: Sendable, CustomTestStringConvertible {
        let name: String
        let distance: Double
        let activeTime: Double
        let segments: Int

        var testDescription: String { name }
    }

    static let recordings = [
        Known(name: "run-5km.fit", distance: 4_922.7, activeTime: 1_440, segments: 1),
        Known(name: "ride-39km-with-pauses.fit", distance: 38_922, activeTime: 6_254, segments: 5),
        Known(name: "walk-700m.fit", distance: 732.76, activeTime: 588.228, segments: 1),
        Known(name: "run-8km.gpx", distance: 8_547.98, activeTime: 1_656.45, segments: 1),
    ]

    /// Fixes with this accuracy in metres or worse are not part of a route.
    private static let accuracyLimit = 50.0

    private func recording(_ name: String) throws -> Recording? {
        guard let folder = ProcessInfo.processInfo.environment["RECORDINGS_DIR"] else {
            print("skipped: RECORDINGS_DIR names no folder with \(name)")
            return nil
        }
        return try RecordingFile(path: "\(folder)/\(name)").recording
    }

    @Test(arguments: recordings) func `TCX has distance, active time, heart rate and pauses`(_ known: Known)
        async throws
    {
        guard var recording = try recording(known.name) else { return }
        // Each lap would begin a track.
        recording.laps = []
        let bytes = TCXExport.bytes(of: try PlayedWorkout(recording).exported)
        #expect(try await XMLSchema.tcx.validate(bytes) == "")
        let text = try XMLText(bytes)
        #expect(abs(try text.numbers("Lap/DistanceMeters").reduce(0, +) - known.distance) <= known.distance / 200)
        #expect(abs(try text.numbers("TotalTimeSeconds").reduce(0, +) - known.activeTime) <= 1)

        let samples = recording.samples.filter { sample in recording.segments.contains { $0.contains(sample.time!) } }
        let rates = samples.compactMap { $0[.heartRate] }
        #expect(try text.numbers("Trackpoint/HeartRateBpm/Value") == rates)
        #expect(try text.numbers("MaximumHeartRateBpm/Value") == rates.max().map { [$0] } ?? [])
        if let average = try text.numbers("AverageHeartRateBpm/Value").first {
            #expect(abs(average - rates.reduce(0, +) / Double(rates.count)) < 1)
        }

        // The tracks and the gaps between them, as read by ElementTree.
        let tracks = try await [[IndependentTrack.Point]].read(bytes)
        #expect(tracks.count == known.segments)
        #expect(tracks.map { $0[0].time } == recording.segments.map(\.lowerBound.seconds))
        #expect(tracks.map { $0[$0.count - 1].time } == recording.segments.map(\.upperBound.seconds))

        let again = try PlayedWorkout(try #require(Recording(try XMLRecording(Data(bytes)).track)))
        #expect(abs((again.workout.distance ?? 0) - known.distance) <= known.distance / 200)
        #expect(abs(again.workout.activeDuration - known.activeTime) <= 1)
        #expect(again.exported.allPoints.compactMap { $0[.heartRate] } == rates)
    }

    @Test(arguments: recordings) func `GPX has the points of the route, their heart rate and segments`(_ known: Known)
        async throws
    {
        guard let recording = try recording(known.name) else { return }
        let bytes = GPXExport.bytes(of: try PlayedWorkout(recording).exported)
        #expect(try await XMLSchema.gpx.validate(bytes) == "")
        // An altitude without a position is no point of GPX.
        let fixes = recording.locations.filter { fix in
            fix.latitude != nil && recording.segments.contains { $0.contains(fix.time!) }
                && fix[.horizontalAccuracy] ?? 0 < Self.accuracyLimit
        }
        let samples = Dictionary(recording.samples.map { ($0.time, $0) }, uniquingKeysWith: { first, _ in first })
        let parts = try await [[IndependentTrack.Point]].read(bytes)
        let points = parts.flatMap(\.self)
        #expect(parts.count == known.segments)
        #expect(points.map(\.time) == fixes.compactMap(\.time?.seconds))
        #expect(points.map(\.heartRate) == fixes.map { samples[$0.time]?[.heartRate] })
        #expect(zip(points, fixes).allSatisfy { abs($0.latitude! - $1.latitude!) < 1e-8 })
        #expect(zip(points, fixes).allSatisfy { abs($0.longitude! - $1.longitude!) < 1e-8 })

        let again = try PlayedWorkout(try #require(Recording(try XMLRecording(Data(bytes)).track)))
        #expect(again.workout.segments.count == known.segments)
        #expect(again.exported.allPoints.map { $0[.heartRate] } == points.map(\.heartRate))
    }

    @Test(arguments: recordings) func `gpsbabel converts both`(_ known: Known) async throws {
        guard let recording = try recording(known.name) else { return }
        guard FileManager.default.fileExists(atPath: "/usr/bin/gpsbabel") else {
            print("skipped: no gpsbabel")
            return
        }
        let exported = try PlayedWorkout(recording).exported
        let count = exported.allPoints.count { $0.place != nil }
        for (format, name, other) in [(ExportFormat.tcx, "gtrnctr", "gpx"), (.gpx, "gpx", "gtrnctr")] {
            let folder = try TemporaryFolder()
            try Data(format.bytes(of: exported)).write(to: URL(fileURLWithPath: folder.file("in")))
            try await ChildProcess.run(
                ["gpsbabel", "-t", "-i", name, "-f", folder.file("in"), "-o", other, "-F", folder.file("out")],
                log: folder.file("log"))
            let converted = try XMLText([UInt8](Data(contentsOf: URL(fileURLWithPath: folder.file("out")))))
            #expect(try converted.elements(format == .tcx ? "trkpt" : "Trackpoint").count == count)
        }
    }
}

extension [[IndependentTrack.Point]] {
    /// The points of an exported file, as read by ElementTree.
    fileprivate static func read(_ bytes: [UInt8]) async throws -> Self {
        let folder = try TemporaryFolder()
        try Data(bytes).write(to: URL(filePath: folder.file("workout.xml")))
        return try await IndependentTrack.parts(of: folder.file("workout.xml"))
    }
}
