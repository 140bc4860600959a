import Testing

@testable import Workouts

/// The effect of each action, and its refusals.
@Suite struct PlanActionTests {
    private static let squat = WorkoutDefinition.Item(
        id: "squat", name: "Squat",
        sets: [.init(repetitions: 5, weight: 100, rest: 120), .init(repetitions: 5, weight: 100)],
        alternatives: [
            PlannedExercise(name: "Leg Press", sets: [.init(repetitions: 10, weight: 150)]),
            PlannedExercise(name: "Lunge", sets: Array(repeating: .init(repetitions: 12), count: 3)),
        ])
    private static let definition = WorkoutDefinition(sections: [
        .init(items: [squat, .init(id: "plank", name: "Plank", sets: [.init(time: 60)])]),
        .init(
            timer: TimerConfiguration(.emom, rounds: 4),
            items: [
                .init(id: "burpee", name: "Burpee", sets: [.init(repetitions: 10)]), .init(id: "row", name: "Row"),
            ]),
    ])

    private var run = PlannedRun(Self.definition)

    private func completed(_ item: String) -> [CompletedSet] { run.planned.progress.completed[item] ?? [] }

    private mutating func refusal(_ action: PlanAction, at: Double = 50) -> Refusal? {
        let before = run.planned
        let refusal = #expect(throws: Refusal.self, "\(action)") { try run.apply(action, at: at) }
        #expect(run.planned == before)
        return refusal
    }

    @Test mutating func `a set is completed as planned or as reported`() throws {
        try run.complete(at: 10)
        try run.apply(.completeSet(SetCompletion(repetitions: 4, weight: 102.5, time: 40)), at: 200)
        #expect(completed("squat").map(\.repetitions) == [5, 4])
        #expect(completed("squat").map(\.weight) == [100, 102.5])
        #expect(completed("squat").map(\.time) == [nil, 40])
        #expect(completed("squat").map(\.rest) == [120, nil])
        #expect(completed("squat").map(\.at) == [run.time(10), run.time(200)])
    }

    @Test mutating func `a repeated set keeps its first time and takes new values`() throws {
        let reference = SetReference(item: "squat", set: 0, round: 1)
        try run.apply(.completeSet(SetCompletion(reference)), at: 20)
        try run.apply(.completeSet(SetCompletion(reference, repetitions: 3)), at: 30)
        #expect(completed("squat").map(\.at) == [run.time(20)])
        #expect(completed("squat").map(\.repetitions) == [3])
        #expect(completed("squat").map(\.weight) == [100])
        try run.apply(.completeSet(SetCompletion(reference)), at: 10)
        #expect(completed("squat").map(\.at) == [run.time(10)])
    }

    @Test mutating func `a repeated set does not revoke a skip of its exercise`() throws {
        try run.complete("squat", set: 0, round: 1, at: 20)
        try run.apply(.skipExercise(item: "squat"), at: 30)
        try run.complete("squat", set: 0, round: 1, at: 20)
        #expect(run.planned.progress.skipped == ["squat"])
        try run.complete("squat", set: 1, round: 1, at: 40)
        #expect(run.planned.progress.skipped == [])
    }

    @Test mutating func `a set in a paced block belongs to the current round`() throws {
        try run.apply(.goTo(item: "burpee"), at: 0)
        try run.complete(at: 130)
        try run.complete("row", at: 140)
        #expect(completed("burpee").map(\.round) == [3])
        #expect(completed("row").map(\.round) == [2])
        #expect(refusal(.completeSet(SetCompletion()), at: 150)?.code == "invalid_state")
    }

    @Test mutating func `an impossible action is refused and changes nothing`() {
        let items = run.planned.plan.blocks.flatMap { $0.items.map(\.id) }.joined(separator: ", ")
        let completions: [(SetCompletion, String)] = [
            (SetCompletion(SetReference(item: "x")), "item: unknown item 'x'; available: \(items)"),
            (
                SetCompletion(SetReference(item: "squat", set: 2)),
                "set: out of range; Squat has 2 sets"
            ),
            (
                SetCompletion(SetReference(item: "squat", set: -1)),
                "set: out of range; Squat has 2 sets"
            ),
            (SetCompletion(SetReference(item: "squat", round: 2)), "round: squat has no turn in round 2; its turns: 1"),
            (SetCompletion(SetReference(item: "row", round: 1)), "round: row has no turn in round 1; its turns: 2, 4"),
            (
                SetCompletion(SetReference(item: "row", round: .max)),
                "round: row has no turn in round \(Int.max); its turns: 2, 4"
            ),
            (SetCompletion(repetitions: 0), "repetitions: 1 to 1000"),
            (SetCompletion(weight: -1), "weight: 0 to 1000 kg"),
            (SetCompletion(time: .infinity), "time: 1 to 36000 s"),
        ]
        for (completion, message) in completions {
            #expect(refusal(.completeSet(completion)) == .invalidCommand(message))
        }
        let unknown: [PlanAction] = [
            .uncompleteSet(SetReference(item: "x")), .skipExercise(item: "x"), .flagPain(item: "x"), .goTo(item: "x"),
            .swapExercise(item: "x", alternative: nil), .adjustDifficulty(item: "x", .easier),
        ]
        for action in unknown { #expect(refusal(action) == .noSuchItem("x", in: run.planned.plan)) }
        #expect(
            refusal(.uncompleteSet(SetReference()))
                == .invalidState("no completed set matches the item, set and round of the command"))
        #expect(refusal(.swapExercise(item: "row", alternative: nil)) == .invalidState("Row has no alternatives"))
        #expect(
            refusal(.swapExercise(item: nil, alternative: "x"))
                == .invalidCommand("alternative: unknown alternative 'x'; available: Leg Press, Lunge"))
        #expect(refusal(.adjustDifficulty(item: "plank", .harder))?.code == "invalid_state")
    }

    @Test mutating func `an action that changes the exercise of a paced block is refused`() throws {
        try run.apply(.goTo(item: "row"), at: 0)
        #expect(
            refusal(.goTo(item: "row"))
                == .invalidState(
                    "the clock chooses the item of the current block; skip or swap items, or choose another block"))
    }

    @Test mutating func `skipping an exercise with all sets completed is refused`() throws {
        try run.complete(at: 10)
        try run.complete(at: 20)
        #expect(
            refusal(.skipExercise(item: "squat"))
                == .invalidState("Squat cannot be skipped: every set is completed; undo a set first"))
    }

    @Test mutating func `taking back removes the named set or the last one`() throws {
        try run.complete(at: 10)
        try run.complete(at: 20)
        try run.complete(at: 30)
        try run.apply(.uncompleteSet(SetReference()), at: 40)
        #expect(run.planned.progress.completed.keys.sorted() == ["squat"])
        try run.apply(.uncompleteSet(SetReference(item: "squat", set: 0)), at: 40)
        #expect(completed("squat").map(\.set) == [1])
        #expect(run.timer(40).name == "0 squat work 1")
    }

    @Test mutating func `pain and presentation mode are kept`() throws {
        try run.apply(.flagPain(item: nil), at: 1)
        try run.apply(.flagPain(item: "row"), at: 1)
        try run.apply(.setPresentationMode(.list), at: 1)
        #expect(run.planned.progress.painFlagged == ["squat", "row"])
        #expect(run.planned.progress.presentationMode == .list)
    }

    @Test
    mutating func `a swap takes the named alternative or the next one and after the last the planned exercise`()
        throws
    {
        var names: [String?] = []
        for alternative in [nil, nil, nil, "Lunge", "Squat"] {
            try run.apply(.swapExercise(item: nil, alternative: alternative), at: 1)
            names.append(run.planned.plan.item("squat")?.exercise.name)
        }
        #expect(names == ["Leg Press", "Lunge", "Squat", "Lunge", "Squat"])
    }

    @Test mutating func `a swap to fewer sets completes the exercise and a swap to more leaves open sets`() throws {
        try run.complete(at: 10)
        try run.apply(.swapExercise(item: nil, alternative: "Leg Press"), at: 20)
        #expect(run.timer(20).item == "plank")
        #expect(run.exercises(20) == [1, 4])
        try run.apply(.swapExercise(item: "squat", alternative: "Lunge"), at: 30)
        #expect(run.exercises(30) == [0, 4])
        try run.apply(.goTo(item: "squat"), at: 30)
        try run.complete(at: 40)
        #expect(completed("squat").map(\.exercise) == [nil, 2])
        #expect(completed("squat").map(\.repetitions) == [5, 12])
    }

    @Test mutating func `a swap restarts the time of the set`() throws {
        let items = [
            WorkoutDefinition.Item(
                id: "a", name: "A", alternatives: [PlannedExercise(name: "Plank", sets: [.init(time: 60)])])
        ]
        var run = PlannedRun(WorkoutDefinition(sections: [.init(items: items)]))
        try run.apply(.swapExercise(item: nil, alternative: nil), at: 100)
        #expect(run.timer(100).endsAt == 160)
    }

    @Test mutating func `a change of difficulty scales open sets by ten percent`() throws {
        try run.complete(at: 10)
        try run.apply(.adjustDifficulty(item: nil, .harder), at: 20)
        #expect(run.planned.plan.item("squat")?.sets.map(\.weight) == [100, 110])
        #expect(run.planned.plan.item("squat")?.sets.map(\.repetitions) == [5, 6])
        #expect(run.planned.plan.item("burpee")?.sets.map(\.repetitions) == [11])
        #expect(run.planned.plan.item("plank")?.sets.map(\.time) == [60])
        try run.apply(.adjustDifficulty(item: "burpee", .easier), at: 20)
        #expect(run.planned.plan.item("burpee")?.sets.map(\.repetitions) == [10])
        #expect(run.planned.plan.item("squat")?.sets.map(\.repetitions) == [5, 6])
    }

    @Test func `repeated changes of difficulty keep one repetition and some load and stay within the limits`() throws {
        for (difficulty, repetitions, weight) in [(Difficulty.easier, 1, 0.5), (.harder, 1_000, 1_000)] {
            var run = PlannedRun(
                WorkoutDefinition(sections: [
                    .init(items: [.init(name: "A", sets: [.init(repetitions: 20, weight: 40)])])
                ]))
            for _ in 0..<100 { try? run.apply(.adjustDifficulty(item: nil, difficulty), at: 1) }
            #expect(run.planned.plan.item("1-1")?.sets == [.init(repetitions: repetitions, weight: weight)])
        }
    }

    @Test mutating func `a coach's advice is applied as a whole or not at all`() throws {
        let press = PlannedExercise(name: "Press", sets: [.init(repetitions: 8)])
        let harder = PlannedExercise(name: "Burpee", sets: [.init(repetitions: 15)])
        try run.take(CoachAdvice(["squat": press, "burpee": harder]))
        #expect(run.planned.plan.item("squat")?.exercise == press)
        #expect(run.planned.plan.item("burpee")?.exercises == [harder])
        let before = run.planned
        let tooMany = PlannedExercise(name: "Burpee", sets: [.init(), .init()])
        for advice in [["x": press], ["burpee": tooMany], ["squat": harder, "row": PlannedExercise(name: "")]] {
            #expect(throws: Refusal.self) { try run.take(CoachAdvice(advice)) }
            #expect(run.planned == before)
        }
    }

    @Test mutating func `a coach's replacement beyond the limit of alternatives is refused`() throws {
        for number in 3..<17 { try run.take(CoachAdvice(["squat": PlannedExercise(name: "\(number)")])) }
        let refusal = #expect(throws: Refusal.self) {
            try run.take(CoachAdvice(["squat": PlannedExercise(name: "x")]))
        }
        #expect(refusal == .invalidState("squat has 17 exercises, the maximum; swap to one of them"))
        try run.take(CoachAdvice(["squat": PlannedExercise(name: "3")]))
    }
}
