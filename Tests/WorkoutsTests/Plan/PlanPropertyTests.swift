import Foundation
import TestSupport
import Testing

@testable import Workouts

@Suite struct PlanPropertyTests {
    /// Applies random actions; refused ones change nothing.
    private static func run(
        _ definition: WorkoutDefinition, _ actions: [(at: Double, action: PlanAction)],
        pauses: [PlannedRun.Pause] = []
    ) -> PlannedRun {
        var run = PlannedRun(definition, pauses: pauses)
        for (at, action) in actions { try? run.apply(action, at: at) }
        return run
    }

    @Test func `the clock at an active time does not depend on the pauses`() {
        var random = SeededRandom()
        for _ in 0..<100 {
            let definition = random.definition()
            let actions = random.actions(definition)
            let moments = actions.map(\.at) + (0..<10).map { _ in random.seconds(0...400) }
            // Some moments coincide with an action.
            let pauses = (0..<5).map { _ in
                PlannedRun.Pause(at: moments.randomElement(using: &random)!, length: random.seconds(1...500))
            }
            let plain = Self.run(definition, actions)
            let paused = Self.run(definition, actions, pauses: pauses)
            #expect(plain.planned.progress.completed.keys == paused.planned.progress.completed.keys)
            for moment in moments where moment >= actions.last?.at ?? 0 {
                #expect(plain.timer(moment) == paused.timer(moment), "seed \(random.seed)")
                #expect(plain.exercises(moment) == paused.exercises(moment), "seed \(random.seed)")
            }
        }
    }

    @Test func `a phase lasts until its end and then another begins`() throws {
        var random = SeededRandom()
        var ends = 0
        for _ in 0..<100 {
            let definition = random.definition()
            let actions = random.actions(definition)
            let run = Self.run(definition, actions)
            // The device's clock may be ahead.
            var timer = run.timer(max(0, (actions.last?.at ?? 0) - random.seconds(0...5)))
            while let end = timer.phaseEnd {
                try #require(end > timer.active, "seed \(random.seed)")
                let last = run.planned.timer(at: Timestamp(microseconds: year2026.microseconds + end - 1), run.segments)
                #expect(last.name == timer.name && last.phaseEnd == end, "seed \(random.seed)")
                let next = run.planned.timer(at: Timestamp(microseconds: year2026.microseconds + end), run.segments)
                #expect(PlanCue.Phase(next) != PlanCue.Phase(timer), "seed \(random.seed)")
                #expect(next.phaseStart >= end, "seed \(random.seed)")
                timer = next
                ends += 1
            }
        }
        #expect(ends > 100)
    }

    @Test func `a paced block passes each round once from phase end to phase end`() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            let definition = random.definition([.interval, .emom])
            let run = PlannedRun(definition)
            var timer = run.timer(0)
            var visited = [[timer.block, timer.round]]
            while let end = timer.phaseEnd {
                timer = run.planned.timer(at: Timestamp(microseconds: year2026.microseconds + end), run.segments)
                if timer.phase == .work { visited.append([timer.block, timer.round]) }
            }
            let planned = definition.sections.enumerated().flatMap { block, section in
                (1...section.timer!.rounds!).map { [block, $0] }
            }
            #expect(visited == planned, "seed \(random.seed)")
        }
    }

    @Test func `performed sets are disjoint spans of active time and contain every completed set once`() {
        var random = SeededRandom()
        for _ in 0..<100 {
            let definition = random.definition()
            let actions = random.actions(definition)
            let pauses = (0..<3).map { _ in
                PlannedRun.Pause(at: random.seconds(0...200), length: random.seconds(1...100))
            }
            let run = Self.run(definition, actions, pauses: pauses)
            let end = (actions.last?.at ?? 0) + random.seconds(0...100)
            let segments = run.segments(endedAt: end)
            let sets = run.performedSets(endedAt: end)
            for (set, next) in zip(sets, sets.dropFirst()) {
                #expect(set.end <= next.start, "seed \(random.seed)")
            }
            for set in sets {
                #expect(set.start <= set.end, "seed \(random.seed)")
                #expect(segments.segment(containing: set.start) != nil, "seed \(random.seed)")
                let spent = segments.activeDuration(at: set.end) - segments.activeDuration(at: set.start)
                #expect(abs(spent - set.duration) < 1e-5, "seed \(random.seed)")
                #expect((set.exercise == nil) == (set.kind == .rest), "seed \(random.seed)")
            }
            #expect(sets.reduce(0) { $0 + $1.duration } <= segments.activeDuration() + 1e-5, "seed \(random.seed)")
            let reported = run.planned.progress.completed.values.flatMap { $0.compactMap(\.repetitions) }
            #expect(sets.compactMap(\.repetitions).sorted() == reported.sorted(), "seed \(random.seed)")
        }
    }

    @Test func `rounds are consecutive within the session`() {
        var random = SeededRandom()
        for _ in 0..<100 {
            let definition = random.definition([.interval, .emom, .amrap, .forTime])
            let actions = random.actions(definition)
            let run = Self.run(definition, actions)
            let end = (actions.last?.at ?? 0) + random.seconds(0...100)
            for (block, rounds) in Dictionary(grouping: run.rounds(endedAt: end), by: \.block) {
                // In paced blocks, skipped rounds are missing.
                let isPaced = definition.sections[block].timer?.isPaced == true
                let numbers = rounds.map(\.number)
                #expect(isPaced || numbers == Array(1...rounds.count), "seed \(random.seed)")
                #expect(zip(numbers, numbers.dropFirst()).allSatisfy(<), "seed \(random.seed)")
                #expect(
                    rounds.allSatisfy { year2026 <= $0.startedAt && $0.startedAt <= $0.endedAt }, "seed \(random.seed)")
                #expect(rounds.allSatisfy { $0.endedAt <= run.time(end) }, "seed \(random.seed)")
                #expect(rounds.count <= definition.sections[block].timer?.rounds ?? PlanLimits.rounds)
            }
        }
    }

    @Test func `a plan that is encoded and decoded shows the same`() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            let definition = random.definition()
            let actions = random.actions(definition)
            let run = Self.run(definition, actions)
            let read = try JSONDecoder().decode(PlannedWorkout.self, from: JSONEncoder().encode(run.planned))
            #expect(read == run.planned, "seed \(random.seed)")
            let moment = run.time((actions.last?.at ?? 0) + random.seconds(0...100))
            #expect(read.timer(at: moment, run.segments) == run.planned.timer(at: moment, run.segments))
        }
    }

    @Test func `completed sets do not depend on order and repetition except for their times`() {
        var random = SeededRandom()
        for _ in 0..<100 {
            let definition = random.definition()
            let completions = (0..<30).map { _ -> (at: Double, action: PlanAction) in
                let item = definition.sections.flatMap(\.items).compactMap(\.id).randomElement(using: &random)!
                let reference = SetReference(
                    item: item, set: .random(in: 0...2, using: &random), round: .random(in: 1...3, using: &random))
                return (random.seconds(0...100), .completeSet(SetCompletion(reference)))
            }
            let once = Self.run(definition, completions)
            let again = Self.run(definition, completions.shuffled(using: &random) + completions)
            #expect(once.planned.progress.completed == again.planned.progress.completed, "seed \(random.seed)")
            var repeated = once
            for (at, action) in completions { try? repeated.apply(action, at: at) }
            #expect(repeated.planned == once.planned, "seed \(random.seed)")
        }
    }
}
