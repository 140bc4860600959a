import Foundation
import Testing

@testable import Workouts

/// The heaviest set of each exercise, and the one with most repetitions.
@Suite struct BestSetTests {
    private func set(
        _ name: String?, _ weight: Double? = nil, _ repetitions: Int? = nil,
        _ kind: PlannedWorkout.PerformedSet.Kind = .active
    ) -> PlannedWorkout.PerformedSet {
        .init(
            kind: kind, start: year2026, end: year2026, duration: 0, exercise: name.map { PlannedExercise(name: $0) },
            repetitions: repetitions, weight: weight)
    }

    private func best(_ name: String, _ weight: Double? = nil, _ repetitions: Int? = nil) -> Bests.ExerciseSet {
        .init(exercise: name, weight: weight, repetitions: repetitions)
    }

    @Test func `each exercise has its heaviest set and the one with most repetitions`() {
        let sets = [
            set("Back Squat", 80, 8), set(nil, nil, nil, .rest), set("Back Squat", 100, 5), set("Pull-up", nil, 9),
            set("Back Squat", 100, 4), set("Pull-up", 10, 6), set("Back Squat", 60, 8), set("Plank"),
            set("Deadlift", 140.12345, 3),
        ]
        #expect(
            PlannedWorkout.bestSets(sets) == [
                best("Back Squat", 100, 5), best("Back Squat", 80, 8), best("Pull-up", 10, 6), best("Pull-up", nil, 9),
                best("Deadlift", 140.123, 3),
            ])
    }

    @Test func `a set without weight and repetitions is no best`() {
        #expect(PlannedWorkout.bestSets([]) == nil)
        #expect(PlannedWorkout.bestSets([set("Plank"), set(nil, 5, 5), set("Plank", 0)]) == nil)
        #expect(PlannedWorkout.bestSets([set("Push-up", 0, 20)]) == [best("Push-up", nil, 20)])
        #expect(PlannedWorkout.bestSets([set("Carry", 40)]) == [best("Carry", 40)])
    }

    @Test func `number and bytes are limited`() throws {
        let many = (0..<60).map { set("Exercise \($0)", 10, 5) }
        #expect(PlannedWorkout.bestSets(many)?.count == 32)
        let long = (0..<60).map { set(String(repeating: "\"", count: 98) + "\($0 + 10)", 999.125, 1_000) }
        let found = try #require(PlannedWorkout.bestSets(long))
        #expect((1..<10).contains(found.count))
        #expect(try JSONEncoder().encode(found).count <= 2_049)
    }

    @Test func `the record of a plan has the sets as they were completed`() throws {
        var start = SessionStart(activity: .traditionalStrength, countdown: 0)
        start.definition = WorkoutDefinition(sections: [
            .init(items: [
                .init(id: "a", name: "Back Squat", sets: [.init(repetitions: 5, weight: 80), .init(repetitions: 5)])
            ])
        ])
        let key = SessionKey(User("anna")!, SessionID(UUID()))
        var session = Session(key: key, start: start, at: year2026, now: year2026)
        for (number, weight) in [82.5, 100].enumerated() {
            let completion = SetCompletion(
                SetReference(item: "a", set: number), repetitions: 6 - number, weight: weight)
            try session.apply(.plan(.completeSet(completion)), at: year2026 + Double(60 * number + 60))
        }
        try session.apply(.end(streams: [:]), at: year2026 + 300)
        let record = WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1)
        #expect(record.bests?.sets == [best("Back Squat", 100, 5), best("Back Squat", 82.5, 6)])
        #expect(WorkoutOverview(record).bests == record.bests)
    }
}
