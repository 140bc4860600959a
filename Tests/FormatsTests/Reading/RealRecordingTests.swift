import Foundation
import Testing
import Workouts

@testable import Formats

/// Recordings of real devices, from the folder `RECORDINGS_DIR`. The expected values are the files' own, as Garmin's SDK and
/// ElementTree read them.
@Suite struct RealRecordingTests {
    struct Known: Sendable, CustomTestStringConvertible {
        let file: String
        var number = 1
        /// Metres, seconds without pauses, kcal, bpm; `nil` if the file does not say.
        let distance: Double?
        let activeTime: Double
        let energy: Double?
        let heartRate: Double?
        var segments = 1
        var laps = 1
        var poolLengths: Double?
        var ascent: Double?

        var testDescription: String { "\(file) \(number)" }
    }

    private static let known = [
        Known(
            file: "run-5km.fit", distance: 4_922.73, activeTime: 1_440.668, energy: 317, heartRate: 137, laps: 5,
            ascent: 8),
        Known(
            file: "ride-39km-with-pauses.fit", distance: 38_922, activeTime: 6_254, energy: 1_181, heartRate: 129,
            segments: 5, laps: 4, ascent: 904),
        // An editor cut the session from a longer lap with 68 kcal.
        Known(
            file: "walk-700m.fit", distance: 732.76, activeTime: 588.228, energy: 68 * 588.228 / 897.228, heartRate: nil
        ),
        Known(
            file: "run-10km-laps.fit", distance: 10_010.82, activeTime: 2_223.803, energy: 677, heartRate: nil, laps: 11
        ),
        Known(
            file: "open-water-swim.fit", distance: 4_475.78, activeTime: 4_671.66, energy: 857, heartRate: nil, laps: 12
        ),
        Known(
            file: "pool-swim-lengths.fit", distance: 2_375, activeTime: 3_008.852, energy: 500, heartRate: nil,
            laps: 17,
            poolLengths: 95),
        // The session's own average, 131, leaves out the rests; the laps' averages give 127.8.
        Known(
            file: "pool-swim-hr-messages.fit", distance: 1_350, activeTime: 2_629.118, energy: 330, heartRate: 127.8,
            laps: 11, poolLengths: 27),
        // 669 points in one trkseg, the longest gap of 7 s.
        Known(file: "run-8km.gpx", distance: 8_548, activeTime: 1_656.45, energy: nil, heartRate: nil),
        Known(file: "four-activities.tcx", distance: 7_651.03, activeTime: 3_601.84, energy: 558, heartRate: 161),
        Known(file: "four-activities.tcx", number: 2, distance: nil, activeTime: 2_767.31, energy: nil, heartRate: 129),
        Known(
            file: "four-activities.tcx", number: 3, distance: 9_405.03, activeTime: 3_623.59, energy: 702,
            heartRate: 143),
        Known(file: "four-activities.tcx", number: 4, distance: nil, activeTime: 2_597.27, energy: nil, heartRate: 128),
    ]

    @Test(arguments: known)
    func `a recording keeps its own totals, within 1 %`(known: Known) throws {
        guard let folder = ProcessInfo.processInfo.environment["RECORDINGS_DIR"] else {
            print("skipped: RECORDINGS_DIR names no folder with \(known.file)")
            return
        }
        let recording = try RecordingFile.all(path: "\(folder)/\(known.file)")[known.number - 1].recording
        let workout = try PlayedWorkout(recording).workout
        func expectClose(_ found: Double?, _ expected: Double?, _ name: Comment) throws {
            guard let expected else { return }
            #expect(abs(try #require(found, name) - expected) <= max(expected / 100, 0.5), name)
        }
        try expectClose(workout.distance, known.distance, "distance")
        try expectClose(workout.activeDuration, known.activeTime, "active time")
        if known.file.hasSuffix("gpx") { #expect(abs(workout.activeDuration - known.activeTime) <= 1) }
        try expectClose(workout.activeEnergy, known.energy, "energy")
        try expectClose(workout.averageHeartRate, known.heartRate, "heart rate")
        #expect(workout.segments.count == known.segments)
        if let ascent = known.ascent { #expect(abs(try #require(workout.ascent) - ascent) <= 0.01) }
        // A workout with one lap has none in its record.
        #expect(max(1, workout.laps.count) == known.laps)
        #expect(workout.sums?["poolLengths"] == known.poolLengths)
    }
}
