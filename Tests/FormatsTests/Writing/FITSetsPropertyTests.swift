import Bus
import FIT
import TestSupport
import Testing
import Workouts

@testable import Formats

/// The file has every performed set of any plan.
struct FITSetsPropertyTests {
    @Test func `the file has every performed set, in order of time and within the session`() throws {
        var random = SeededRandom()
        var (active, rests, pauses) = (0, 0, 0)
        for round in 0..<600 {
            let exported = try random.plannedWorkout()
            let workout = exported.workout
            let performed = workout.performedSets
            let messages = try FITFile(FITExport.bytes(of: exported)).messages
            let written = WrittenSet.all(in: messages)
            try #require(written.count == performed.count, "round \(round)")
            active += performed.count { $0.kind == .active }
            rests += performed.count { $0.kind == .rest }
            pauses += workout.segments.count - 1

            for (set, original) in zip(written, performed) {
                expectSame(set, original, from: PlannedRecording.begin, "round \(round)")
            }
            let session = try #require(messages.first { $0.global == FITProfile.Session.global })
            let elapsed = try #require(session.number(FITProfile.Session.elapsedTime))
            for set in written {
                #expect(0 <= set.start && set.start <= set.end && set.end <= elapsed, "round \(round)")
            }
            for (set, next) in zip(written, written.dropFirst()) {
                #expect(set.end <= next.start, "round \(round)")
            }
            for set in performed {
                let active = workout.active(from: set.start, to: set.end)
                #expect(abs(set.duration - active) <= 1e-6, "round \(round): \(set)")
            }
            expectOrder(messages, "round \(round)")
        }
        // The test needs sets, rests and pauses in its rounds.
        #expect(active > 1_000 && rests > 300 && pauses > 300)
    }

    @Test func `a record with any numbers gives readable files`() throws {
        var random = SeededRandom()
        var withSets = 0
        for _ in 0..<500 {
            let exported = try random.plannedWorkout()
            let payload = random.withOtherNumbers(JSONCoding.encode(exported.workout))
            guard let record = try? JSONCoding.decode(WorkoutRecord.self, from: payload) else { continue }
            let other = ExportedWorkout(
                workout: record, series: Series(times: [], columns: []), track: Track(times: [], columns: []))
            let messages = try FITFile(FITExport.bytes(of: other)).messages
            #expect(messages.filter { $0.global == FITProfile.Session.global }.count == 1)
            if messages.contains(where: { $0.global == FITProfile.Set.global }) { withSets += 1 }
        }
        // Some records must have valid sets.
        #expect(withSets > 40)
    }

    private func expectSame(
        _ set: WrittenSet, _ original: PlannedWorkout.PerformedSet, from begin: Timestamp, _ comment: Comment
    ) {
        #expect((set.kind == .active) == (original.kind == .active), comment)
        // Rounded down since the start. With many pauses, rounded to any whole second.
        #expect(abs(set.start - original.start.seconds(since: begin)) <= 1, comment)
        #expect(abs(set.end - original.end.seconds(since: begin)) <= 1, comment)
        #expect(abs(set.duration - original.duration) <= 0.000_5 + 1e-9, comment)
        #expect(set.repetitions == original.repetitions, comment)
        #expect((set.weight == nil) == (original.weight == nil), comment)
        #expect(abs((set.weight ?? 0) - (original.weight ?? 0)) <= 1.0 / 32 + 1e-9, comment)
        #expect(set.title == original.exercise?.name, comment)
        #expect(set.category == original.exercise.map { $0.exercise?.fitCategory ?? 65_534 }, comment)
    }

    /// Expects messages in order of time, sets and titles in order of their numbers, and each title once.
    private func expectOrder(_ messages: [FITMessage], _ comment: Comment) {
        typealias Field = FITProfile.Set
        typealias Title = FITProfile.ExerciseTitle
        let times = messages.compactMap { $0.global == Field.global ? $0.number(Field.timestamp) : $0.timestamp }
        #expect(times == times.sorted(), comment)
        let sets = messages.filter { $0.global == Field.global }
        #expect(sets.map { $0.integer(Field.index) } == Array(sets.indices), comment)
        let titles = messages.filter { $0.global == Title.global }
        #expect(titles.map { $0.integer(FITProfile.messageIndex) } == Array(titles.indices), comment)
        let names = titles.map { "\($0.integer(Title.category) ?? 0) \($0.text(Title.text) ?? "")" }
        let numbers = titles.map { [$0.integer(Title.category), $0.integer(Title.name)] }
        #expect(Set(names).count == titles.count && Set(numbers).count == titles.count, comment)
    }
}

extension SeededRandom {
    /// A payload with other numbers in a few places.
    fileprivate mutating func withOtherNumbers(_ payload: [UInt8]) -> [UInt8] {
        var parts = String(decoding: payload, as: UTF8.self).split(separator: ":", omittingEmptySubsequences: false)
            .map(String.init)
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let place = Int.random(in: 0..<parts.count, using: &self)
            guard let digits = parts[place].firstRange(of: /-?[0-9][0-9.]*/) else { continue }
            let other = ["0", "-1", "1", "7", "300", "1000000000", "1e18", "-1e18", "1e300", "0.5"]
            parts[place].replaceSubrange(digits, with: other.randomElement(using: &self)!)
        }
        return Array(parts.joined(separator: ":").utf8)
    }
}

extension WorkoutRecord {
    /// Active seconds between two moments.
    fileprivate func active(from start: Timestamp, to end: Timestamp) -> Double {
        segments.activeDuration(at: end) - segments.activeDuration(at: start)
    }
}
