import Testing

@testable import Workouts

/// The current block and exercise.
@Suite struct PlanPositionTests {
    private static func section(
        _ ids: String, _ timer: TimerConfiguration = TimerConfiguration(.stopwatch), sets: Int = 1
    ) -> WorkoutDefinition.Section {
        .init(
            timer: timer,
            items: ids.map { .init(id: "\($0)", name: "\($0)", sets: Array(repeating: PlannedSet(), count: sets)) })
    }

    private static func run(_ sections: WorkoutDefinition.Section...) -> PlannedRun {
        PlannedRun(WorkoutDefinition(sections: sections))
    }

    private static let emom = TimerConfiguration(.emom, rounds: 3)

    @Test func `exercises advance in order and then the next stopwatch begins`() throws {
        var run = Self.run(Self.section("ab", sets: 2), Self.section("c"))
        var names: [String] = []
        for moment in 1...5 {
            names.append(run.timer(Double(moment)).name)
            try run.complete(at: Double(moment))
        }
        #expect(names == ["0 a work 1", "0 a work 1", "0 b work 1", "0 b work 1", "1 c work 1"])
        #expect(run.timer(6).name == "1 c over 1")
        #expect(run.timer(6).elapsed == 2_000_000)
    }

    @Test func `a block with its own clock begins only by an action`() throws {
        var run = Self.run(Self.section("a"), Self.section("b", Self.emom))
        try run.complete(at: 10)
        #expect(run.timer(100).name == "0 a over 1")
        try run.apply(.goTo(item: "b"), at: 100)
        #expect(run.timer(100).name == "1 b work 1")
        #expect(run.timer(160).name == "1 b work 2")
    }

    @Test func `a completed block is skipped`() throws {
        var run = Self.run(Self.section("a"), Self.section("b"), Self.section("cd"), Self.section("e"))
        try run.complete("b", at: 1)
        try run.apply(.skipExercise(item: "c"), at: 2)
        try run.apply(.skipExercise(item: "d"), at: 2)
        try run.complete(at: 3)
        #expect(run.timer(3).name == "3 e work 1")
    }

    @Test func `a round begins with its first exercise and advances to the next open one`() throws {
        var run = Self.run(Self.section("abc", TimerConfiguration(.forTime, rounds: 2)))
        try run.apply(.goTo(item: "b"), at: 1)
        var names: [String] = []
        for moment in 2...7 {
            names.append(run.timer(Double(moment)).name)
            try run.complete(at: Double(moment))
        }
        #expect(names == ["0 b work 1", "0 c work 1", "0 a work 1", "0 a work 2", "0 b work 2", "0 c work 2"])
    }

    @Test func `a set of a later round keeps the current exercise`() throws {
        var run = Self.run(Self.section("ab", TimerConfiguration(.forTime, rounds: 2)))
        try run.complete("a", set: 0, round: 2, at: 1)
        #expect(run.timer(1).name == "0 a work 1")
        try run.complete(at: 2)
        #expect(run.timer(2).name == "0 b work 1")
        try run.complete(at: 3)
        #expect(run.timer(3).name == "0 b work 2")
    }

    @Test func `the last set of a block advances even if another exercise is current`() throws {
        var run = Self.run(Self.section("ab"), Self.section("c"))
        try run.complete(at: 1)
        try run.apply(.goTo(item: "a"), at: 2)
        try run.complete("b", at: 3)
        #expect(run.timer(3).name == "1 c work 1")
    }

    @Test func `a skipped exercise advances to the next and going to it revokes the skip`() throws {
        var run = Self.run(Self.section("abc"))
        try run.apply(.skipExercise(item: nil), at: 1)
        #expect(run.timer(1).name == "0 b work 1")
        #expect(run.exercises(1) == [0, 2])
        try run.apply(.skipExercise(item: "c"), at: 2)
        #expect(run.timer(2).name == "0 b work 1")
        try run.apply(.goTo(item: "a"), at: 3)
        #expect(run.timer(3).name == "0 a work 1")
        #expect(run.exercises(3) == [0, 2])
    }

    @Test func `skipping a whole block begins the next one with its clock`() throws {
        for timer in [Self.emom, TimerConfiguration(.stopwatch), TimerConfiguration(.amrap, cap: 60)] {
            var run = Self.run(Self.section("ab", timer), Self.section("c", Self.emom))
            try run.apply(.skipExercise(item: "b"), at: 5)
            try run.apply(.skipExercise(item: "a"), at: 10)
            #expect(run.timer(10).name == "1 c work 1")
            #expect(run.timer(70).name == "1 c work 2")
        }
    }

    @Test func `skipping everything leaves nothing open`() throws {
        for timer in [
            Self.emom, TimerConfiguration(.stopwatch), TimerConfiguration(.amrap, cap: 60),
            TimerConfiguration(.forTime),
        ] {
            var run = Self.run(Self.section("ab", timer))
            try run.apply(.skipExercise(item: "b"), at: 5)
            try run.apply(.skipExercise(item: "a"), at: 5)
            #expect(run.exercises(6) == [0, 0])
            #expect(run.timer(6).item == "a")
            #expect(run.timer(1_000).phase == .over)
            #expect(run.performedSets(endedAt: 1_000).allSatisfy { $0.repetitions == nil })
        }
    }

    @Test func `a paced exercise is skipped while the clock runs and the skip can be revoked`() throws {
        var run = Self.run(Self.section("ab", Self.emom))
        try run.apply(.skipExercise(item: nil), at: 5)
        #expect(run.timer(5).name == "0 a work 1")
        #expect(run.timer(60).name == "0 b work 2")
        try run.apply(.goTo(item: "a"), at: 70)
        #expect(run.timer(70).name == "0 b work 2")
        #expect(run.planned.progress.skipped == [])
    }

    @Test func `the clock of a block stops while another block is current`() throws {
        var run = Self.run(Self.section("a", Self.emom), Self.section("b", Self.emom))
        try run.apply(.goTo(item: "b"), at: 70)
        #expect(run.timer(75).name == "1 b work 1")
        try run.apply(.goTo(item: "a"), at: 80)
        #expect(run.timer(80).name == "0 a work 2")
        #expect(run.timer(80).elapsed == 70_000_000)
        #expect(run.timer(80).endsAt == 130)
        #expect(run.timer(190).name == "1 b work 1")
        #expect(run.timer(190).elapsed == 10_000_000)
        #expect(run.timer(240).name == "1 b work 2")
    }

    @Test func `an emom that was left ends with the rest of its time`() throws {
        var run = Self.run(Self.section("a", Self.emom), Self.section("b"))
        try run.apply(.goTo(item: "b"), at: 170)
        try run.apply(.goTo(item: "a"), at: 500)
        #expect(run.timer(509.999_999).name == "0 a work 3")
        #expect(run.timer(510).name == "1 b work 1")
        let refusal = #expect(throws: Refusal.self) { try run.apply(.goTo(item: "a"), at: 520) }
        #expect(refusal == .invalidState("the time of a's block is over; choose an item of another block"))
    }

    @Test func `an exercise is done with its sets or with the time of its block`() throws {
        var run = Self.run(Self.section("ab", sets: 2), Self.section("c", Self.emom), Self.section("def"))
        #expect(run.exercises(0) == [0, 6])
        try run.complete(at: 1)
        #expect(run.exercises(1) == [0, 6])
        try run.complete(at: 2)
        #expect(run.exercises(2) == [1, 6])
        try run.complete("b", set: 0, at: 3)
        try run.complete("b", set: 1, at: 3)
        #expect(run.exercises(3) == [2, 6])
        try run.apply(.goTo(item: "c"), at: 10)
        #expect(run.exercises(189.999_999) == [2, 6])
        #expect(run.exercises(190) == [3, 6])
    }

    @Test func `taking back the set that advanced returns to its block`() throws {
        var run = Self.run(Self.section("ab"), Self.section("c"))
        try run.complete(at: 1)
        try run.complete(at: 2)
        #expect(run.timer(3).name == "1 c work 1")
        try run.apply(.uncompleteSet(SetReference()), at: 4)
        #expect(run.timer(4).name == "0 b work 1")
        #expect(run.timer(4).elapsed == 4_000_000)
    }

    @Test func `taking back a set of a former block keeps the current block`() throws {
        var run = Self.run(Self.section("a"), Self.section("bc"))
        try run.complete(at: 1)
        try run.complete(at: 2)
        try run.apply(.uncompleteSet(SetReference(item: "a")), at: 3)
        #expect(run.timer(3).name == "1 c work 1")
        #expect(run.exercises(3) == [1, 3])
        var gone = Self.run(Self.section("a"), Self.section("b", Self.emom))
        try gone.complete(at: 1)
        try gone.apply(.goTo(item: "b"), at: 2)
        try gone.apply(.uncompleteSet(SetReference()), at: 3)
        #expect(gone.timer(3).name == "1 b work 1")
    }

    @Test func `a late report takes effect at its own time`() throws {
        var run = Self.run(Self.section("a", TimerConfiguration(.countdown, work: 60)), Self.section("b"))
        #expect(run.timer(70).block == 1)
        try run.complete(at: 50)
        #expect(run.planned.progress.completed.keys.sorted() == ["a"])
        try run.complete(at: 75)
        #expect(run.planned.progress.completed.keys.sorted() == ["a", "b"])
    }

    @Test func `going to another block beyond the limit is refused and sets still count`() throws {
        var run = Self.run(Self.section("a"), Self.section("b"))
        for number in 1..<PlanLimits.visits { try run.apply(.goTo(item: number % 2 == 0 ? "a" : "b"), at: 1) }
        #expect(run.timer(1).block == 1)
        let refusal = #expect(throws: Refusal.self) { try run.apply(.goTo(item: "a"), at: 1) }
        #expect(refusal?.code == "invalid_state")
        try run.complete("a", at: 2)
        try run.complete(at: 3)
        #expect(run.exercises(3) == [2, 2])
    }

    @Test func `a late set does not move a user who went elsewhere`() throws {
        var run = PlannedRun(
            WorkoutDefinition(sections: [
                .init(items: [.init(id: "a", name: "A")]), .init(items: [.init(id: "b", name: "B")]),
                .init(items: [.init(id: "c", name: "C"), .init(id: "d", name: "D")]),
            ]))
        try run.apply(.goTo(item: "d"), at: 65)
        try run.complete("a", at: 50)
        #expect(run.timer(70).item == "d")
        try run.apply(.goTo(item: "b"), at: 60)
        #expect(run.timer(70).item == "d")
    }

    @Test func `a late report of a set before the skip does not revoke the skip`() throws {
        let definition = WorkoutDefinition(sections: [
            .init(items: [.init(id: "a", name: "A", sets: [PlannedSet(), PlannedSet()]), .init(id: "b", name: "B")])
        ])
        var (inOrder, late) = (PlannedRun(definition), PlannedRun(definition))
        try inOrder.complete("a", at: 10)
        try inOrder.apply(.skipExercise(item: "a"), at: 20)
        try late.apply(.skipExercise(item: "a"), at: 20)
        try late.complete("a", at: 10)
        #expect(late.planned == inOrder.planned)
        #expect(late.timer(30).item == "b" && late.exercises(30) == [0, 1])
        // The last open set is completed, at whatever time.
        try late.complete("a", at: 15)
        #expect(late.exercises(30) == [1, 2])
    }
}
