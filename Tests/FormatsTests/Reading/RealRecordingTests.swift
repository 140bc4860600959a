import Foundation
import Testing
import Workouts

@testable import Formats

/// Recordings of real devices, from the folder `RECORDINGS_DIR`.
@Suite struct RealRecordingTests {
    @Test(arguments: [
        ("run-5km.fit", 4_922.7, 1_440.0, 1), ("ride-39km-with-pauses.fit", 38_922, 6_254, 2),
        ("walk-700m.fit", 732.76, 588.228, 1),
    ])
    func `a recording's distance and active time are kept`(
        name: String, distance: Double, activeTime: Double, leastSegments: Int
    ) throws {
        guard let folder = ProcessInfo.processInfo.environment["RECORDINGS_DIR"] else {
            print("skipped: RECORDINGS_DIR names no folder with \(name)")
            return
        }
        let recording = try RecordingFile(path: "\(folder)/\(name)").recording
        let streams = [Device("watch-1")!: recording.samples]
        let segments = recording.segments.map { Segment(start: $0.lowerBound, end: $0.upperBound) }
        let summary = CountedItems(streams: streams, segments: segments).summary(laps: [], units: .metric)
        #expect(abs((summary.distance ?? 0) - distance) <= distance / 1000)
        #expect(abs(segments.activeDuration() - activeTime) <= 2)
        #expect(recording.segments.count >= leastSegments)
    }
}
