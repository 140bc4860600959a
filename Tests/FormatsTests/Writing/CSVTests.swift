import TestSupport
import Testing
import Workouts

@testable import Formats

@Suite struct CSVTests {
    private func lines(_ recording: Recording, laps: [Double] = []) throws -> [String] {
        let played = try PlayedWorkout(recording, laps: laps.map { Recording.begin + $0 })
        let text = String(decoding: CSVExport.bytes(of: played.exported), as: UTF8.self)
        #expect(text.hasSuffix("\r\n"))
        return text.split(separator: "\r\n").map(String.init)
    }

    @Test func `each point is a row with its own measurements`() throws {
        let recording = Recording(
            .cycling, segments: [0...10, 60...70],
            samples: [
                (0, [.heartRate: 120, .distance: 3.5, .temperature: -2.5]), (10, [.activeEnergy: 0.25, .steps: 4]),
                (60, [.distance: 4.25, .power: 210.5, .cadence: 85, .speed: 5.5]),
            ], places: [(60, 50.1, -8.25)])
        #expect(
            try lines(recording, laps: [65]) == [
                "time,active_seconds,segment,lap,latitude,longitude,horizontal_accuracy_m,altitude_m,distance_m,speed_m_s,"
                    + "course_deg,heart_rate_bpm,cadence_per_min,power_w,temperature_c,steps,active_energy_kcal",
                "2023-11-14T22:13:20Z,0,1,1,,,,,3.5,,,120,,,-2.5,,",
                "2023-11-14T22:13:30Z,10,1,1,,,,,,,,,,,,4,0.25",
                "2023-11-14T22:14:20Z,10,2,1,50.1,-8.25,,,7.75,5.5,,,85,210.5,,,",
            ])
    }

    @Test(
        arguments: [([0, 1, 2], ""), ([0, 1.5, 2], ".000"), ([0, 1.5, 2.000001], ".000000")] as [([Double], String)])
    func `all times have the decimals of the finest one`(times: [Double], fraction: String) throws {
        let lines = try lines(Recording(samples: times.map { ($0, [.heartRate: 100]) }))
        #expect(lines[1].hasPrefix("2023-11-14T22:13:20\(fraction)Z,0,"))
        #expect(Set(lines.dropFirst().map { $0.prefix { $0 != "," }.count }).count == 1)
    }

    @Test func `laps and segments count from 1`() throws {
        let lines = try lines(
            Recording(segments: [0...20], samples: [0.0, 10, 20].map { ($0, [.heartRate: 99]) }), laps: [10])
        #expect(
            lines.dropFirst().map { $0.split(separator: ",")[1...3].joined(separator: " ") } == [
                "0 1 1", "10 1 2", "20 1 2",
            ])
    }

    @Test func `a workout without measurements is a header alone`() throws {
        #expect(try lines(Recording()).count == 1)
    }
}
