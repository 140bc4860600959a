import Testing

@testable import Workouts

/// The record of a performed plan.
@Suite struct PlanRecordTests {
    private typealias Item = WorkoutDefinition.Item

    private static func run(_ timer: TimerConfiguration, _ items: [Item], pauses: [PlannedRun.Pause] = []) -> PlannedRun
    {
        PlannedRun(WorkoutDefinition(sections: [.init(timer: timer, items: items)]), pauses: pauses)
    }

    private static func seconds(_ rounds: [PlannedWorkout.Round]) -> [[Double]] {
        rounds.map { [Double($0.number), $0.startedAt.seconds(since: year2026), $0.endedAt.seconds(since: year2026)] }
    }

    private static func lines(_ sets: [PlannedWorkout.PerformedSet]) -> [String] {
        sets.map { set in
            let (start, end) = (set.start.seconds(since: year2026), set.end.seconds(since: year2026))
            let repetitions = set.repetitions.map { " × \($0)" } ?? ""
            return "\(Int(start))–\(Int(end)) \(Int(set.duration)) s \(set.exercise?.name ?? "rest")\(repetitions)"
        }
    }

    @Test func `the last set of a block that advances keeps its duration and the rest before it`() throws {
        let sets = [PlannedSet](repeating: PlannedSet(repetitions: 5, rest: 60), count: 2)
        var run = PlannedRun(
            WorkoutDefinition(sections: [
                .init(items: [Item(id: "a", name: "Squat", sets: sets)]), .init(items: [Item(id: "b", name: "Row")]),
            ]))
        try run.complete(at: 40)
        try run.complete(at: 130)
        #expect(run.timer(131).item == "b")
        #expect(
            Self.lines(run.performedSets(endedAt: 200)) == [
                "0–40 40 s Squat × 5", "40–100 60 s rest", "100–130 30 s Squat × 5",
            ])
    }

    @Test func `strength consists of sets and rests without pauses`() throws {
        let items = [
            Item(name: "Squat", sets: [.init(repetitions: 5, rest: 60), .init(repetitions: 5, rest: 60)]),
            Item(name: "Plank", sets: [.init(time: 30)]),
        ]
        var run = Self.run(TimerConfiguration(.stopwatch), items, pauses: [.init(at: 60, length: 100)])
        try run.complete(at: 40)
        try run.complete(at: 130)
        try run.complete(at: 230)
        let sets = run.performedSets(endedAt: 300)
        #expect(
            Self.lines(sets) == [
                "0–40 40 s Squat × 5", "40–200 60 s rest", "200–230 30 s Squat × 5", "230–300 70 s rest",
                "300–330 30 s Plank",
            ])
        #expect(run.rounds(endedAt: 300) == [])
    }

    @Test func `a set completed before its rest ended begins at the end of the previous set`() throws {
        var run = Self.run(
            TimerConfiguration(.stopwatch), [Item(name: "A", sets: [.init(rest: 60), .init(time: 30), .init()])])
        for moment in [20.0, 40, 50] { try run.complete(at: moment) }
        #expect(
            Self.lines(run.performedSets(endedAt: 60)) == ["0–20 20 s A", "20–40 20 s A", "40–50 10 s A"])
    }

    @Test func `an interval run consists of work and rest and has the rounds with completed work`() throws {
        let timer = TimerConfiguration(.interval, work: 20, rest: 10, rounds: 3)
        let run = Self.run(timer, [Item(name: "Sprint")], pauses: [.init(at: 25, length: 100)])
        #expect(
            Self.lines(run.performedSets(endedAt: 65)) == [
                "0–20 20 s Sprint", "20–130 10 s rest", "130–150 20 s Sprint", "150–160 10 s rest",
                "160–165 5 s Sprint",
            ])
        #expect(Self.seconds(run.rounds(endedAt: 65)) == [[1, 0, 20], [2, 130, 150]])
        #expect(Self.lines(run.performedSets(endedAt: 500)).last == "160–180 20 s Sprint")
        #expect(run.rounds(endedAt: 80).count == 3)
    }

    @Test func `an emom has one set a round with its reported repetitions`() throws {
        let items = [Item(id: "a", name: "A", sets: [.init(repetitions: 10)]), Item(id: "b", name: "B")]
        var run = Self.run(TimerConfiguration(.emom, rounds: 3), items)
        try run.complete(at: 30)
        try run.apply(.completeSet(SetCompletion(SetReference(item: "a", round: 3), repetitions: 8)), at: 170)
        #expect(
            Self.lines(run.performedSets(endedAt: 200))
                == ["0–30 30 s A × 10", "30–60 30 s rest", "60–120 60 s B", "120–170 50 s A × 8", "170–180 10 s rest"])
        #expect(Self.seconds(run.rounds(endedAt: 179)) == [[1, 0, 60], [2, 60, 120]])
    }

    @Test func `an emom with an interruption is recorded in pieces with its repetitions in the last`() throws {
        var run = PlannedRun(
            WorkoutDefinition(sections: [
                .init(
                    timer: TimerConfiguration(.emom, rounds: 2), items: [Item(name: "A", sets: [.init(repetitions: 9)])]
                ),
                .init(items: [Item(id: "b", name: "B")]),
            ]))
        try run.complete(at: 30)
        try run.apply(.goTo(item: "b"), at: 40)
        try run.complete(at: 90)
        try run.apply(.goTo(item: "1-1"), at: 100)
        #expect(
            Self.lines(run.performedSets(endedAt: 150))
                == ["0–40 40 s A", "40–90 50 s B", "100–120 20 s A × 9", "120–150 30 s A"])
        #expect(Self.seconds(run.rounds(endedAt: 150)) == [[1, 0, 120]])
    }

    @Test func `a set reported while another block's clock runs counts before that block`() throws {
        var run = PlannedRun(
            WorkoutDefinition(sections: [
                .init(timer: TimerConfiguration(.emom, rounds: 2), items: [Item(name: "A")]),
                .init(items: [Item(id: "b", name: "B")]),
            ]))
        try run.complete("b", at: 90)
        #expect(
            Self.lines(run.performedSets(endedAt: 120)) == ["0–60 60 s A", "60–60 0 s B", "60–120 60 s A"])
    }

    @Test func `an amrap has the rounds with all sets completed`() throws {
        var run = Self.run(
            TimerConfiguration(.amrap, cap: 300), [Item(id: "a", name: "A"), Item(id: "b", name: "B")],
            pauses: [.init(at: 45, length: 10)])
        for moment in [20.0, 40, 60, 80, 100] { try run.complete(at: moment) }
        #expect(Self.seconds(run.rounds(endedAt: 300)) == [[1, 0, 40], [2, 40, 90]])
        try run.apply(.skipExercise(item: "b"), at: 101)
        #expect(run.rounds(endedAt: 300).count == 3)
        #expect(run.performedSets(endedAt: 300).count == 5)
    }

    @Test func `work against time has its completed rounds`() throws {
        var run = Self.run(TimerConfiguration(.forTime, rounds: 2), [Item(id: "a", name: "A")])
        try run.complete("a", round: 2, at: 50)
        #expect(run.rounds(endedAt: 60) == [])
        try run.complete("a", round: 1, at: 70)
        #expect(Self.seconds(run.rounds(endedAt: 80)) == [[1, 0, 70], [2, 50, 50]])
    }

    @Test func `a countdown without completed sets is one set unless skipped`() throws {
        let items = [Item(id: "a", name: "A"), Item(id: "b", name: "B")]
        var run = Self.run(TimerConfiguration(.countdown, work: 60), items)
        #expect(Self.lines(run.performedSets(endedAt: 45)) == ["0–45 45 s A"])
        #expect(Self.lines(run.performedSets(endedAt: 600)) == ["0–60 60 s A"])
        try run.apply(.skipExercise(item: "a"), at: 1)
        #expect(Self.lines(run.performedSets(endedAt: 600)) == ["0–60 60 s B"])
        try run.complete(at: 20)
        #expect(Self.lines(run.performedSets(endedAt: 600)) == ["0–20 20 s B"])
        try run.apply(.uncompleteSet(SetReference()), at: 20)
        try run.apply(.skipExercise(item: "b"), at: 21)
        #expect(run.performedSets(endedAt: 600) == [])
    }

    @Test func `a swapped exercise is recorded as performed`() throws {
        let items = [Item(name: "A", sets: [.init(), .init()], alternatives: [PlannedExercise(name: "B")])]
        var run = Self.run(TimerConfiguration(.stopwatch), items)
        try run.complete(at: 10)
        try run.apply(.swapExercise(item: nil, alternative: nil), at: 15)
        try run.complete(at: 20)
        #expect(Self.lines(run.performedSets(endedAt: 30)) == ["0–10 10 s A", "10–20 10 s B"])
    }
}
