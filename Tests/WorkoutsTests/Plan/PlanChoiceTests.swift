import Testing

@testable import Workouts

/// Swapped and skipped exercises in paced blocks.
@Suite struct PlanChoiceTests {
    private static let sprint = WorkoutDefinition.Item(
        id: "a", name: "Sprint", alternatives: [.init(name: "Bike"), .init(name: "Row")])
    private static let plank = WorkoutDefinition.Item(id: "b", name: "Plank")

    /// 20 s of work and 10 s of rest.
    private static func run(_ rounds: Int, _ items: [WorkoutDefinition.Item] = [sprint]) -> PlannedRun {
        let timer = TimerConfiguration(.interval, work: 20, rest: 10, rounds: rounds)
        return PlannedRun(
            WorkoutDefinition(sections: [.init(timer: timer, items: items)]), pauses: [.init(at: 25, length: 100)])
    }

    /// The exercise of each piece of work, `-` for none.
    private static func work(_ run: PlannedRun) -> String {
        run.performedSets(endedAt: 1_000).filter { $0.duration == 20 }.map { $0.exercise?.name ?? "-" }
            .joined(separator: " ")
    }

    @Test func `rounds before a swap keep their exercise`() throws {
        var run = Self.run(5)
        try run.apply(.swapExercise(item: nil, alternative: "Row"), at: 55)
        #expect(Self.work(run) == "Sprint Sprint Row Row Row")
        try run.apply(.swapExercise(item: nil, alternative: "Bike"), at: 95)
        #expect(Self.work(run) == "Sprint Sprint Row Bike Bike")
    }

    @Test func `a round counts for the exercise that was current longer`() throws {
        var run = Self.run(3)
        try run.apply(.swapExercise(item: nil, alternative: "Row"), at: 39)
        try run.apply(.swapExercise(item: nil, alternative: "Bike"), at: 69)
        #expect(Self.work(run) == "Sprint Row Bike")
    }

    @Test func `a completed round keeps its exercise after later swaps`() throws {
        var run = Self.run(2)
        try run.complete(at: 15)
        try run.apply(.swapExercise(item: nil, alternative: "Row"), at: 16)
        try run.complete(set: 0, round: 1, at: 17)
        #expect(Self.work(run) == "Sprint Row")
        try run.apply(.swapExercise(item: nil, alternative: "Bike"), at: 5)
        try run.apply(.uncompleteSet(SetReference(item: "a", set: 0, round: 1)), at: 20)
        #expect(Self.work(run) == "Sprint Bike")
    }

    @Test func `completing a round that has not begun is refused`() throws {
        var run = Self.run(3)
        let refusal = #expect(throws: Refusal.self) { try run.complete("a", round: 2, at: 25) }
        #expect(refusal == .invalidState("round 2 has not begun; the current round is 1"))
        try run.complete("a", round: 2, at: 35)
    }

    @Test func `a second report for a round with one set corrects it`() throws {
        var run = Self.run(3)
        try run.complete(at: 15)
        try run.apply(.completeSet(SetCompletion(SetReference(item: "a", round: 1), repetitions: 7)), at: 35)
        #expect(run.planned.progress.completed["a"]?.map(\.repetitions) == [7])
    }

    @Test func `turns of a skipped exercise are rests until it is taken up again`() throws {
        var run = Self.run(6, [Self.sprint, Self.plank])
        try run.apply(.skipExercise(item: "b"), at: 25)
        #expect(Self.work(run) == "Sprint - Sprint - Sprint -")
        #expect(run.rounds(endedAt: 1_000).map(\.number) == [1, 3, 5])
        try run.apply(.goTo(item: "b"), at: 85)
        #expect(Self.work(run) == "Sprint - Sprint Plank Sprint Plank")
        #expect(run.rounds(endedAt: 1_000).map(\.number) == [1, 3, 4, 5, 6])
        // The completed set revokes the skip.
        try run.complete("b", round: 2, at: 100)
        #expect(Self.work(run) == "Sprint Plank Sprint Plank Sprint Plank")
    }

    @Test func `a late report of a round before the skip does not revoke the skip`() throws {
        var run = Self.run(6, [Self.sprint, Self.plank])
        try run.apply(.skipExercise(item: "b"), at: 95)
        try run.complete("b", round: 2, at: 45)
        #expect(Self.work(run) == "Sprint Plank Sprint - Sprint -")
        #expect(run.planned.progress.skipped == ["b"])
    }

    @Test func `changes of different exercises commute`() throws {
        let actions: [(PlanAction, Double)] = [
            (.skipExercise(item: "b"), 25), (.swapExercise(item: "a", alternative: "Row"), 115),
        ]
        for actions in [actions, actions.reversed()] {
            var run = Self.run(6, [Self.sprint, Self.plank])
            for (action, moment) in actions { try run.apply(action, at: moment) }
            #expect(Self.work(run) == "Sprint - Sprint - Row -")
        }
    }

    @Test func `a late change takes effect after a later change of the same exercise`() throws {
        var run = Self.run(4)
        try run.apply(.swapExercise(item: nil, alternative: "Row"), at: 55)
        try run.apply(.swapExercise(item: nil, alternative: "Bike"), at: 25)
        #expect(Self.work(run) == "Sprint Sprint Bike Bike")
    }

    @Test func `a coach's change takes effect at the time of the question`() throws {
        var run = Self.run(3)
        try run.take(CoachAdvice(["a": .init(name: "Swim")]), at: 28)
        #expect(Self.work(run) == "Sprint Swim Swim")
        #expect(run.planned.progress.changes.map(\.exercise) == [3])
    }

    @Test func `swaps in blocks without pacing are not recorded`() throws {
        var run = PlannedRun(WorkoutDefinition(sections: [.init(items: [Self.sprint, Self.plank])]))
        try run.apply(.swapExercise(item: "a", alternative: nil), at: 1)
        try run.apply(.skipExercise(item: "a"), at: 2)
        #expect(run.planned.progress.changes == [])
    }

    @Test func `a change beyond the limit is refused and changes nothing`() throws {
        var run = Self.run(5)
        for number in 0..<PlanLimits.changes {
            try run.apply(.swapExercise(item: nil, alternative: nil), at: Double(number) / 10)
        }
        let before = run.planned
        #expect(throws: Refusal.self) { try run.apply(.swapExercise(item: nil, alternative: nil), at: 20) }
        #expect(run.planned == before)
    }

    @Test func `the announcement of a rest names the next exercise when exercises take turns`() throws {
        var run = Self.run(4, [Self.sprint, Self.plank])
        func text(_ active: Double) -> String {
            let time = run.time(active)
            let clock = ActiveClock(run.segments)
            return run.planned.cue(run.planned.timer(at: time, clock), at: time, clock).text
        }
        #expect(text(24) == "Rest, 0:10, then Plank")
        #expect(text(50) == "Rest, 0:10, then Sprint")
        try run.apply(.skipExercise(item: "b"), at: 1)
        #expect(text(24) == "Rest, 0:10")
        #expect(text(35) == "Round 2 of 4: Plank, skipped")
    }

    @Test(arguments: [TimerConfiguration(.amrap, cap: 60), TimerConfiguration(.forTime, rounds: 3)])
    func `a change of exercise within a round is announced`(timer: TimerConfiguration) throws {
        let items = [Self.sprint, Self.plank]
        var run = PlannedRun(WorkoutDefinition(timer: timer, sections: [.init(items: items)]))
        func cue(_ active: Double) -> PlanCue {
            let time = run.time(active)
            let clock = ActiveClock(run.segments)
            return run.planned.cue(run.planned.timer(at: time, clock), at: time, clock)
        }
        let of = timer.rounds.map { " of \($0)" } ?? ""
        var (phases, texts): ([PlanCue.Phase], [String]) = ([], [])
        for moment in [1.0, 10, 20] {
            if moment > 1 { try run.complete(at: moment) }
            phases.append(cue(moment).phase)
            texts.append(cue(moment).text)
        }
        #expect(texts == ["Round 1\(of): Sprint", "Plank", "Round 2\(of): Sprint"])
        #expect(Set(phases).count == 3)
    }
}
