import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

@Suite struct JSONTests {
    private struct File: Decodable {
        var points: [[String: Double]]
        var workout: WorkoutRecord
    }

    @Test func `the file has the record of the bus and each point with its own measurements`() throws {
        let recording = Recording(
            samples: [(0, [.heartRate: 120, .distance: 3.5, .temperature: -2.5]), (1.5, [.steps: 4])],
            places: [(1.5, 50.1, -8.25)])
        let played = try PlayedWorkout(recording, name: "\"A\" \\ ü\u{1}")
        let bytes = JSONExport.bytes(of: played.exported)
        let file = try JSONDecoder().decode(File.self, from: Data(bytes))
        #expect(file.workout == played.workout)
        #expect(
            file.points == [
                [
                    "activeTime": 0, "distance": 3.5, "heartRate": 120, "lap": 1, "segment": 1, "temperature": -2.5,
                    "time": 1_700_000_000,
                ],
                [
                    "activeTime": 1.5, "lap": 1, "latitude": 50.1, "longitude": -8.25, "segment": 1, "steps": 4,
                    "time": 1_700_000_001.5,
                ],
            ])
    }

    @Test func `keys are sorted, with a line for each point`() throws {
        let recording = Recording(samples: [(0.25, [.heartRate: 120, .power: 9, .cadence: 3, .activeEnergy: 1])])
        let text = String(decoding: JSONExport.bytes(of: try PlayedWorkout(recording).exported), as: UTF8.self)
        let start = """
            {"points":[
            {"activeEnergy":1,"activeTime":0.25,"cadence":3,"heartRate":120,"lap":1,"power":9,"segment":1,"time":1700000000.25}],
            "workout":{"activeDuration":60,
            """
        #expect(text.hasPrefix(start.trimmingCharacters(in: .newlines)))
    }

    @Test func `a workout without measurements has no points`() throws {
        let bytes = JSONExport.bytes(of: try PlayedWorkout(Recording()).exported)
        #expect(try JSONDecoder().decode(File.self, from: Data(bytes)).points.isEmpty)
    }
}
