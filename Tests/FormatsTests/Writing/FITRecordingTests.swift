import FIT
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

/// Recordings of real devices and generated ones, exported and read by independent readers.
@Suite(.disabled(if: IndependentReader.isAnyMissing, "PYTHON lacks one of the three FIT readers"))
struct FITRecordingTests {
    private static let recordings = ProcessInfo.processInfo.environment["RECORDINGS_DIR"].map { URL(filePath: $0) }
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The export of a workout on disk.
    private func export(_ workout: FITWorkout) throws -> URL {
        let file = URL(filePath: folder.file("workout.fit"))
        try Data(FITExport.bytes(of: workout.exported())).write(to: file)
        return file
    }

    @Test(
        .disabled(if: recordings == nil, "RECORDINGS_DIR is not set"),
        arguments: ["run-5km.fit", "ride-39km-with-pauses.fit", "walk-700m.fit"])
    func `every reader reads the same in a recording and its export`(name: String) async throws {
        let file = try #require(Self.recordings).appending(path: name)
        let original = try await IndependentReader.summary(of: file)
        let recorded = try FITActivity(try FITFile(Data(contentsOf: file)))
        let exported = try export(FITWorkout(Recording(recorded)))

        let (expected, readers) = (original.sessions[0], try await IndependentReader.summaries(of: exported))
        #expect(readers.count == 3)
        for (reader, summary) in readers {
            try #require(summary.sessions.count == 1)
            let session = summary.sessions[0]
            func expectClose(_ field: String, _ tolerance: Double) {
                guard let expected = expected[field] else { return }
                #expect(abs((session[field] ?? .nan) - expected) <= tolerance, "\(reader): \(field)")
            }
            expectClose("total_distance", expected["total_distance", default: 0] * 0.005)
            expectClose("total_timer_time", 1)
            expectClose("total_elapsed_time", 1)
            expectClose("avg_heart_rate", 1)
            expectClose("max_heart_rate", 0)
            expectClose("start_time", 0)
            #expect(summary.heartRates == original.heartRates, "\(reader)")
            // The positions that route-builder accepts.
            #expect(summary.places <= original.places && summary.places >= original.places * 99 / 100, "\(reader)")
        }
        let read = try FITActivity(try FITFile(Data(contentsOf: exported)))
        #expect(read.pauses == recorded.pauses)
        #expect(readers["fitdecode"]?.timer.map(\.type).allSatisfy { ["start", "stop_all"].contains($0) } == true)
        #expect(try await gpsbabelPoints(in: exported) == readers["fitdecode"]?.places)
    }

    @Test func `every reader reads a workout with all values`() async throws {
        var workout = FITWorkout.invented(segments: [0...100, 130...200])
        workout.laps = [workout.segments[0].start + 50]
        let readers = try await IndependentReader.summaries(of: export(workout))
        #expect(readers.count == 3)
        for (reader, summary) in readers {
            #expect(summary.records.count == 172, "\(reader)")
            #expect(summary.laps.map { $0["total_timer_time"] } == [50, 120], "\(reader)")
            #expect(summary.timer.map(\.type) == ["start", "stop_all", "start", "stop_all"], "\(reader)")
            for field in [
                "position_lat", "position_long", "enhanced_altitude", "heart_rate", "cadence", "fractional_cadence",
                "distance", "enhanced_speed", "power", "temperature",
            ] {
                #expect(summary.records.allSatisfy { $0[field] != nil }, "\(reader): \(field)")
            }
        }
    }

    @Test func `every reader reads a workout with few values or none`() async throws {
        for workout in [
            FITWorkout(), .invented(.hiit, .indoor, segments: [0...60], quantities: [], withLocations: false),
            .invented(.cycling, .indoor, segments: [0...60], quantities: [.heartRate], withLocations: false),
        ] {
            for (reader, summary) in try await IndependentReader.summaries(of: export(workout)) {
                #expect(summary.sessions.count == 1 && summary.laps.count == 1, "\(reader)")
            }
        }
    }

    /// The number of track points that gpsbabel finds in a file.
    private func gpsbabelPoints(in file: URL) async throws -> Int {
        let track = folder.file("track.gpx")
        try await ChildProcess.run(
            ["gpsbabel", "-i", "garmin_fit", "-f", file.path(percentEncoded: false), "-o", "gpx", "-F", track],
            log: folder.file("gpsbabel.log"))
        return try String(contentsOfFile: track, encoding: .utf8).components(separatedBy: "<trkpt ").count - 1
    }
}

extension IndependentReader.Summary {
    /// The number of records with a heart rate.
    fileprivate var heartRates: Int { records.count { $0["heart_rate"] != nil } }

    /// The number of records with a position.
    fileprivate var places: Int { records.count { $0["position_lat"] != nil } }
}

extension FITActivity {
    fileprivate var pauses: [ClosedRange<Double>] {
        zip(activeSegments, activeSegments.dropFirst()).map { $0.upperBound...$1.lowerBound }
    }
}
