import FIT
import TestSupport
import Testing
import Workouts

@testable import Formats

/// A swim in a pool of 25 m: lengths of 20 s with a rest of 30 s after the second.
@Suite struct SwimmingRecordingTests {
    private static let start = 1_700_000_000
    private static let lengths: [(start: Int, isActive: Bool)] = [(0, true), (20, true), (40, false), (70, true)]

    private func recording(withRecords: Bool = true, beats: Bool = false) throws -> Recording {
        var fixture = FITFixture()
        if withRecords {
            // The device notices a length 9 s after its end.
            for (number, time) in [29, 49, 99].enumerated() {
                fixture.add(
                    20, local: 1, [.time(253, Self.start + min(90, time)), .init(5, .uint32, (number + 1) * 2_500)])
            }
        }
        for length in Self.lengths {
            fixture.add(
                101, local: 2,
                [
                    .time(253, Self.start + length.start + 29), .time(2, Self.start + length.start),
                    .init(3, .uint32, length.isActive ? 20_000 : 30_000),
                    .init(5, .uint16, length.isActive ? 9 : 0xFFFF),
                    .init(12, .enumeration, length.isActive ? 1 : 0),
                ])
        }
        if beats {
            fixture.add(
                132, local: 4,
                [
                    .time(253, Self.start + 10), .init(6, .uint8, 120, 121, 122),
                    .init(9, .uint32, 4_096, 4_608, 5_120),
                ])
        }
        fixture.add(
            18, local: 3,
            [
                .time(2, Self.start), .init(7, .uint32, 90_000), .init(8, .uint32, 90_000), .init(9, .uint32, 7_500),
                .init(5, .enumeration, 5), .init(6, .enumeration, 17), .init(44, .uint16, 2_500),
            ])
        return Recording(try FITActivity(try FITFile(fixture.bytes)))
    }

    @Test(arguments: [true, false])
    func `lengths become pool lengths, strokes and distance`(withRecords: Bool) throws {
        let recording = try recording(withRecords: withRecords)
        let swum = recording.samples.filter { $0[.poolLengths] != nil }
        #expect(swum.map { $0.time?.seconds } == [20, 40, 90].map { Double(Self.start + $0) })
        #expect(swum.map { $0[.poolLengths] } == [1, 1, 1])
        #expect(swum.map { $0[.strokes] } == [9, 9, 9])
        #expect(recording.samples.compactMap { $0[.distance] }.reduce(0, +) == 75)
        #expect(recording.poolLength == 25)
        guard case .command(.start(let start))? = recording.steps.first?.kind else {
            Issue.record("no start")
            return
        }
        #expect(start.poolLength == 25 && start.environment == .indoor)
        #expect(recording.activity == .swimming && recording.environment == .indoor)
        // No item seems to be faster than the swimmer.
        let before40 = recording.samples.filter { $0.time!.seconds <= Double(Self.start + 40) }
        #expect(before40.compactMap { $0[.distance] }.reduce(0, +) == 50)
        let times = recording.samples.map { $0.time! }
        #expect(times == times.sorted() && Set(times).count == times.count)
    }

    @Test func `a workout counts the lengths, strokes and metres`() throws {
        let workout = try PlayedWorkout(try recording()).workout
        #expect(workout.distance == 75)
        #expect(workout.sums?["poolLengths"] == 3 && workout.sums?["strokes"] == 27)
    }

    @Test func `beats of a strap become heart rates at their times`() throws {
        let recording = try recording(beats: true)
        let rates = recording.samples.filter { $0[.heartRate] != nil }
        #expect(rates.map { $0[.heartRate] } == [120, 121, 122])
        #expect(rates.map { $0.time?.seconds } == [10, 10.5, 11].map { Double(Self.start) + $0 })
    }
}
