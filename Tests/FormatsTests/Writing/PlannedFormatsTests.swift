import FIT
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

/// A planned workout without measurements in the formats that have no sets.
struct PlannedFormatsTests {
    private struct File: Decodable {
        var points: [[String: Double]]
        var workout: WorkoutRecord
    }

    @Test func `JSON has plan, progress and rounds as they are on the bus`() throws {
        var run = try PlannedRecording(PlannedRecording.amrap)
        for offset in [20.0, 45, 70, 100, 130] { try run.complete(at: offset) }
        let exported = try run.ended(at: 300)
        let file = try JSONDecoder().decode(File.self, from: Data(JSONExport.bytes(of: exported)))
        #expect(file.points.isEmpty)
        #expect(file.workout == exported.workout)
        #expect(file.workout.rounds?.count == 2)
        #expect(file.workout.performedSets == exported.workout.performedSets)
    }

    @Test func `CSV has its header alone`() throws {
        let text = String(decoding: CSVExport.bytes(of: try PlannedRecording.strengthDone()), as: UTF8.self)
        #expect(text.hasPrefix("time,") && text.hasSuffix("\r\n") && text.split(separator: "\r\n").count == 1)
    }

    @Test func `TCX has one lap, with a track before and after the pause`() async throws {
        let bytes = TCXExport.bytes(of: try PlannedRecording.strengthDone())
        #expect(try await XMLSchema.tcx.validate(bytes) == "")
        let text = try XMLText(bytes)
        #expect(try text.attributes("Sport", of: "Activity") == ["Other"])
        #expect(try text.numbers("Lap/TotalTimeSeconds") == [360])
        #expect(try text.counts("Lap/Track") == [2, 2])
        #expect(try text.texts("Notes") == ["Legs"])
    }

    @Test func `GPX has its name and a track without points`() async throws {
        let bytes = GPXExport.bytes(of: try PlannedRecording.strengthDone())
        #expect(try await XMLSchema.gpx.validate(bytes) == "")
        let text = try XMLText(bytes)
        #expect(try text.texts("trk/name") == ["Legs"])
        #expect(try text.elements("trkpt").isEmpty)
    }

    @Test(arguments: [
        PlannedRecording.strength, PlannedRecording.emom, PlannedRecording.amrap, PlannedRecording.intervals,
    ])
    func `a replay of FIT and TCX has the same activity and segments`(definition: String) throws {
        var run = try PlannedRecording(definition)
        try run.pause(40...60)
        let exported = try run.ended(at: 200)
        let fit = Recording(try FITActivity(try FITFile(FITExport.bytes(of: exported))))
        let tcx = try #require(Recording(try XMLRecording(Data(TCXExport.bytes(of: exported))).track))
        #expect(fit.activity == exported.workout.activity)
        for (replayed, tolerance) in [(fit, 1.0), (tcx, 0.001)] {
            try #require(replayed.segments.count == 2)
            for (segment, original) in zip(replayed.segments, exported.workout.segments) {
                #expect(abs(segment.lowerBound.seconds(since: original.start)) < tolerance)
                #expect(try abs(segment.upperBound.seconds(since: #require(original.end))) < tolerance)
            }
        }
    }
}
