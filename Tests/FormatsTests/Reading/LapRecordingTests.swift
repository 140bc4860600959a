import FIT
import TestSupport
import Testing
import Workouts

@testable import Formats

private typealias Fixture = TrackFixture

/// Laps and totals of recordings.
@Suite struct LapRecordingTests {
    private static let start = 1_700_000_000

    private func tcx(_ laps: [String]) throws -> Recording {
        let folder = try TemporaryFolder()
        return try RecordingFile(path: try folder.write(Fixture.tcx(laps), to: "a.tcx")).recording
    }

    /// A session of 100 s with a record each 10 s, and laps.
    private func fit(
        calories: Int? = nil, distance: Int? = nil, pauses: [ClosedRange<Int>] = [],
        laps: [(from: Double, duration: Double, calories: Int?)] = [],
        records: [Int] = Array(stride(from: 0, through: 100, by: 10)),
        values: (Int) -> [FITFixture.Field] = { [.init(3, .uint8, 120 + $0 / 10)] }
    ) throws -> Recording {
        var fixture = FITFixture()
        for pause in pauses {
            for (time, event) in [(pause.lowerBound, 4), (pause.upperBound, 0)] {
                fixture.add(
                    21, [.time(253, Self.start + time), .init(0, .enumeration, 0), .init(1, .enumeration, event)])
            }
        }
        for record in records { fixture.add(20, local: 1, [.time(253, Self.start + record)] + values(record)) }
        for lap in laps {
            // A FIT time has whole seconds.
            fixture.add(
                19, local: 2,
                [
                    .time(2, Self.start + Int(lap.from.rounded(.up))), .init(7, .uint32, Int(lap.duration * 1_000)),
                    .init(8, .uint32, Int(lap.duration * 1_000)), .init(11, .uint16, lap.calories ?? 0xFFFF),
                ])
        }
        fixture.add(
            18, local: 3,
            [
                .time(2, Self.start), .init(7, .uint32, 100_000), .init(5, .enumeration, 1),
                .init(11, .uint16, calories ?? 0xFFFF), .init(9, .uint32, distance.map { $0 * 100 } ?? 0xFFFF_FFFF),
            ])
        return Recording(try FITActivity(try FITFile(fixture.bytes)))
    }

    private func commands(_ recording: Recording) -> [String] {
        recording.steps.compactMap { step in
            guard case .command(let action) = step.kind else { return nil }
            return "\(action.name) \(step.at.seconds - Fixture.start)".replacing(/\.0$/, with: "")
        }
    }

    // MARK: Laps

    @Test func `the laps of a FIT file are played at their ends`() throws {
        let recording = try fit(laps: [(0, 30.5, nil), (30.5, 40, nil), (71, 29, nil)])
        #expect(commands(recording) == ["start 0", "lap 30.5", "lap 71", "end 100"])
    }

    @Test func `the laps of a TCX file are played at the starts of the next`() throws {
        let recording = try tcx([
            Fixture.lap(0, duration: 20, [[Fixture.trackpoint(0), Fixture.trackpoint(19)]]),
            Fixture.lap(20, duration: 10, [[Fixture.trackpoint(20), Fixture.trackpoint(29)]]),
            Fixture.lap(30, duration: 10, [[Fixture.trackpoint(30), Fixture.trackpoint(40)]]),
        ])
        #expect(commands(recording) == ["start 0", "lap 20", "lap 30", "end 40"])
    }

    @Test func `a lap that ends in a pause ends where the pause begins`() throws {
        let recording = try fit(pauses: [30...60], laps: [(0, 40, nil), (40, 15, nil), (60, 20, nil), (80, 20, nil)])
        #expect(commands(recording) == ["start 0", "lap 30", "pause 30", "resume 60", "lap 80", "end 100"])
        // Every command is accepted.
        #expect(try PlayedWorkout(recording).workout.laps.count == 3)
    }

    @Test func `more laps than a session may have are left out`() throws {
        let laps = (0..<450).map { (Double($0) / 5, 0.2, nil as Int?) }
        var recording = try fit()
        recording.laps = laps.map { Timestamp(seconds: Double(Self.start) + $0.0) }
        #expect(commands(recording).filter { $0.hasPrefix("lap") }.count == 400)
        #expect(throws: Never.self) { try PlayedWorkout(recording) }
    }

    // MARK: Energy

    private func energy(_ recording: Recording) -> [Double?] { recording.samples.map { $0[.activeEnergy] } }

    @Test func `a session's energy is spread over its active time`() throws {
        let recording = try fit(calories: 70, pauses: [30...60])
        #expect(energy(recording) == [0, 10, 10, 10, nil, nil, 0, 10, 10, 10, 10])
        #expect(recording.totals.energy == 70)
    }

    @Test func `a lap's energy is spread over its own time, in proportion to the session's`() throws {
        let recording = try fit(calories: 99, laps: [(0, 50, 80), (50, 50, 20)])
        let found = energy(recording).compactMap(\.self)
        #expect(abs(found.reduce(0, +) - 99) < 0.001)
        #expect(abs(found[0...5].reduce(0, +) - 79.2) < 0.001)
    }

    @Test func `without a session's energy the laps' counts, as far as it is inside`() throws {
        let recording = try fit(laps: [(0, 50, 30), (50, 100, 40)])
        #expect(abs(energy(recording).compactMap(\.self).reduce(0, +) - 50) < 0.001)
    }

    @Test func `energy of records or none at all stays as it is`() throws {
        let recorded = try fit(calories: 500, values: { [.init(33, .uint16, $0)] })
        #expect(energy(recorded) == [0] + [Double?](repeating: 10, count: 10))
        #expect(energy(try fit()).allSatisfy { $0 == nil })
        #expect(energy(try fit(calories: 0)).allSatisfy { $0 == nil })
    }

    @Test func `the calories of TCX laps are spread over their time`() throws {
        let recording = try tcx([
            Fixture.lap(
                0, duration: 20,
                (0...1).map { part in
                    [Fixture.trackpoint(Double(part * 10)), Fixture.trackpoint(Double(part * 10 + 10))]
                }),
            Fixture.lap(20, duration: 20, [[Fixture.trackpoint(20), Fixture.trackpoint(30), Fixture.trackpoint(40)]]),
        ])
        #expect(abs(energy(recording).compactMap(\.self).reduce(0, +) - 18) < 0.001)
        #expect(recording.totals.energy == 18)
        #expect(recording.totals.averageHeartRate == 99)
    }

    @Test func `0 kcal and 0 m of a lap are no measurements`() throws {
        let folder = try TemporaryFolder()
        let text = Fixture.tcx([
            Fixture.lap(
                0, duration: 20, distance: 0,
                [[Fixture.trackpoint(0, distance: 0), Fixture.trackpoint(20, distance: 0)]])
        ])
        .replacing("<Calories>9", with: "<Calories>0")
        let recording = try RecordingFile(path: try folder.write(text, to: "a.tcx")).recording
        #expect(recording.samples.allSatisfy { $0[.activeEnergy] == nil && $0[.distance] == nil })
        #expect(recording.totals.energy == nil && recording.totals.distance == nil)
    }

    @Test func `energy of random laps and pauses adds up`() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            let calories = Int.random(in: 1...900, using: &random)
            var at = 0.0
            let laps = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                let duration = Double(Int.random(in: 0...40, using: &random))
                defer { at += duration }
                return (
                    from: at, duration: duration,
                    calories: Bool.random(using: &random) ? Int.random(in: 0...300, using: &random) : nil
                )
            }
            let from = Int.random(in: 0...98, using: &random)
            let pause = from...Int.random(in: from + 1...99, using: &random)
            let recording = try fit(calories: calories, pauses: [pause], laps: laps)
            let sum = energy(recording).compactMap(\.self).reduce(0, +)
            #expect(abs(sum - Double(calories)) < 0.01, "\(laps) \(pause)")
            #expect(energy(recording).allSatisfy { $0 ?? 0 >= 0 })
        }
    }

    // MARK: The end of a recording

    @Test func `the metres of records after the last stop count, over the last minute`() throws {
        var fixture = FITFixture()
        for (time, event) in [(0, 0), (100, 4)] {
            fixture.add(21, [.time(253, Self.start + time), .init(0, .enumeration, 0), .init(1, .enumeration, event)])
        }
        for time in stride(from: 0, through: 110, by: 1) {
            fixture.add(20, local: 1, [.time(253, Self.start + time), .init(5, .uint32, time * 1_000)])
        }
        fixture.add(
            18, local: 3,
            [.time(2, Self.start), .init(7, .uint32, 111_000), .init(8, .uint32, 100_000), .init(9, .uint32, 110_000)])
        let recording = Recording(try FITActivity(try FITFile(fixture.bytes)))
        let workout = try PlayedWorkout(recording).workout
        #expect(abs((workout.distance ?? 0) - 1_100) < 0.01)
        #expect(workout.activeDuration == 100)
        #expect(recording.samples.allSatisfy { ($0[.distance] ?? 0) < 15 })
    }

    // MARK: Totals alone

    @Test func `a session without records becomes items with its totals`() throws {
        var fixture = FITFixture()
        fixture.add(
            18,
            [
                .time(2, Self.start), .init(7, .uint32, 1_800_000), .init(8, .uint32, 1_800_000),
                .init(9, .uint32, 500_000), .init(11, .uint16, 300), .init(16, .uint8, 140), .init(5, .enumeration, 1),
                .init(6, .enumeration, 1),
            ])
        let recording = Recording(try FITActivity(try FITFile(fixture.bytes)))
        #expect(recording.isMadeFromTotals)
        let workout = try PlayedWorkout(recording).workout
        #expect(abs((workout.distance ?? 0) - 5_000) < 0.1)
        #expect(abs((workout.activeEnergy ?? 0) - 300) < 1)
        #expect(workout.averageHeartRate == 140)
        #expect(workout.activeDuration == 1_800)
        #expect(workout.environment == .indoor)
    }

    @Test func `a TCX lap without points becomes items with its totals`() throws {
        let recording = try tcx([Fixture.lap(0, duration: 600, distance: 2_000, [])])
        #expect(recording.isMadeFromTotals)
        let workout = try PlayedWorkout(recording).workout
        #expect(abs((workout.distance ?? 0) - 2_000) < 0.1)
        #expect(abs((workout.activeEnergy ?? 0) - 9) < 0.5)
        #expect(workout.averageHeartRate == 99)
        #expect(workout.activeDuration == 600)
    }

    @Test func `records without a distance share the session's, unless they have positions`() throws {
        let recording = try fit(distance: 300)
        #expect(!recording.isMadeFromTotals)
        #expect(recording.samples.map { $0[.distance] } == [0] + [Double?](repeating: 30, count: 10))
        let placed = try fit(distance: 300, values: { [.init(0, .sint32, 1 << 29), .init(1, .sint32, $0)] })
        #expect(placed.samples.allSatisfy { $0[.distance] == nil })
    }

    @Test func `random messages of any types are read without a trap`() throws {
        var random = SeededRandom()
        let messages: [(UInt16, [UInt8])] = [
            (18, [2, 5, 6, 7, 8, 9, 11, 16, 22, 44, 253]), (19, [2, 7, 8, 9, 11, 15, 253]),
            (20, [0, 1, 3, 5, 33, 253]),
            (21, [0, 1, 253]), (101, [2, 3, 5, 6, 9, 12, 253]), (132, [0, 6, 9, 10, 253]),
        ]
        for _ in 0..<Tier.runs(100, nightly: 2_000) {
            var fixture = FITFixture()
            // A plain session, so that there is something to read.
            fixture.add(18, [.time(2, Self.start), .init(7, .uint32, 100_000), .init(44, .uint16, 2_500)])
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let (global, numbers) = messages.randomElement(using: &random)!
                fixture.add(
                    global, local: 1,
                    numbers.map { number in
                        guard Bool.random(using: &random) else {
                            return .time(number, Self.start + Int.random(in: -50...200, using: &random))
                        }
                        let type = FITBaseType.allCases.randomElement(using: &random)!
                        let elements = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                            (0..<type.size).map { _ in UInt8.random(in: 0...255, using: &random) }
                        }
                        return FITFixture.Field(number, type: type.code, elements: elements)
                    })
            }
            let activity = try FITActivity(try FITFile(fixture.bytes))
            for index in activity.sessions.indices {
                let recording = Recording(activity, session: index)
                #expect(recording.steps.count < 60_000)
            }
        }
    }
}
