import TestSupport
import Testing
import Workouts

@testable import Formats

struct FITClockTests {
    private func clock(_ workout: FITWorkout) -> FITExport.Clock { FITExport.Clock(workout.exported()) }

    private func active(_ clock: FITExport.Clock) -> Double { clock.segments.reduce(0) { $0 + $1.end - $1.start } }

    @Test func `whole seconds are unchanged for any fraction of the start`() {
        for start in [0, 0.25, 0.999_999] {
            let clock = clock(.invented(start: 1_700_000_000 + start, segments: [0...100]))
            for second in [1_700_000_000.0, 1_700_000_050] { #expect(clock[Timestamp(seconds: second)] == second) }
        }
    }

    @Test func `time since the start is rounded down`() {
        let clock = clock(.invented(start: 1_700_000_000.7, segments: [0...60.9]))
        #expect(clock.start == 1_700_000_001)
        for (offset, seconds) in [(0.0, 0.0), (0.999, 0), (1, 1), (59.5, 59), (60.9, 60)] {
            #expect(clock[Timestamp(seconds: 1_700_000_000.7 + offset)] - clock.start == seconds)
        }
    }

    @Test func `pauses that begin and end with the same fraction keep their length`() {
        let clock = clock(.invented(start: 1_700_000_000.4, segments: [0...10.5, 20.5...30.3, 40.3...50]))
        #expect(clock.segments.map { $0.end - clock.start } == [10, 30, 50])
        #expect(clock.segments.map { $0.start - clock.start } == [0, 20, 40])
    }

    @Test func `many pauses with fractions of seconds keep the active time`() {
        var random = SeededRandom()
        for _ in 0..<300 {
            let start = Timestamp(seconds: Double.random(in: 1_700_000_000...1_700_000_001, using: &random))
            let segments = random.segments(Int.random(in: 1...300, using: &random), from: start)
            let workout = FITWorkout(segments: segments)
            let clock = clock(workout)
            #expect(abs(active(clock) - segments.activeDuration()) < 1)
            var latest = clock.start
            for (rounded, segment) in zip(clock.segments, segments) {
                #expect(latest <= rounded.start && rounded.start <= rounded.end)
                latest = rounded.end
                #expect(abs(rounded.start - segment.start.seconds) < 1)
                #expect(abs(rounded.end - (segment.end?.seconds ?? 0)) < 1)
                for _ in 0..<5 {
                    let moment = Timestamp(
                        microseconds: Int64.random(
                            in: segment.start.microseconds...segment.end!.microseconds, using: &random))
                    #expect((rounded.start...rounded.end).contains(clock[moment]))
                }
            }
            #expect(latest <= clock.end)
        }
    }

    @Test func `an open segment ends with the workout`() {
        var workout = FITWorkout.invented(segments: [0...10, 20...30]).exported().workout
        workout.segments[1].end = nil
        let clock = FITExport.Clock(
            ExportedWorkout(
                workout: workout, series: Series(times: [], columns: []), track: Track(times: [], columns: [])))
        #expect(clock.segments.map { $0.end - clock.start } == [10, 30])
    }
}

extension SeededRandom {
    /// Segments of 0 to 20 s, with pauses of 0 to 20 s between them.
    mutating func segments(_ count: Int, from start: Timestamp) -> [Segment] {
        var time = start
        return (0..<count).map { _ in
            let begin = time
            let end = begin + Double.random(in: 0...20, using: &self)
            time = end + Double.random(in: 0...20, using: &self)
            return Segment(start: begin, end: end)
        }
    }
}
