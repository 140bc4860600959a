import Testing

@testable import Workouts

/// Validation errors of definitions, each with its field.
@Suite struct DefinitionValidationTests {
    private typealias Item = WorkoutDefinition.Item

    private static let long = String(repeating: "x", count: PlanLimits.name + 1)
    private static let tooLong = "1 to \(PlanLimits.name) bytes"

    private static func validationError(_ change: (inout WorkoutDefinition) -> Void) -> String? {
        var definition = WorkoutDefinition(
            name: "Legs", focus: ["strength"], equipment: ["barbell"], timer: TimerConfiguration(.stopwatch),
            sections: [
                .init(name: "Main", items: [Item(name: "Squat", sets: [.init(repetitions: 5, weight: 100)])]),
                .init(
                    timer: TimerConfiguration(.emom, rounds: 2),
                    items: [Item(id: "b", name: "Burpee"), Item(name: "Row", sets: [.init()])]),
            ])
        change(&definition)
        return definition.validationError
    }

    @Test func `a valid definition has no validation error`() {
        #expect(Self.validationError { _ in } == nil)
        #expect(WorkoutDefinition(sections: [.init(items: [Item(name: "x")])]).validationError == nil)
    }

    @Test func `each validation error names its field`() {
        let changes: [(String, (inout WorkoutDefinition) -> Void)] = [
            ("name: \(Self.tooLong)", { $0.name = "" }), ("name: control characters", { $0.name = "a\nb" }),
            ("focus[1]: \(Self.tooLong)", { $0.focus = ["a", Self.long] }),
            ("equipment: at most 20", { $0.equipment = Array(repeating: "a", count: 21) }),
            ("timer.work: missing for countdown", { $0.timer = TimerConfiguration(.countdown) }),
            ("sections: 1 to 20", { $0.sections = [] }),
            ("sections: 1 to 20", { $0.sections = Array(repeating: $0.sections[0], count: 21) }),
            ("sections[0].name: \(Self.tooLong)", { $0.sections[0].name = Self.long }),
            ("sections[1].items: 1 to 60", { $0.sections[1].items = [] }),
            ("sections[1].items: at most 1, one a round", { $0.sections[1].timer?.rounds = 1 }),
            ("sections[1].timer.rounds: 1 to 200", { $0.sections[1].timer?.rounds = 201 }),
            ("sections[1].timer.rounds: missing for emom", { $0.sections[1].timer?.rounds = nil }),
            ("sections[0].items[0].name: \(Self.tooLong)", { $0.sections[0].items[0].name = Self.long }),
            ("sections[0].items[0].id: 1 to 64 bytes", { $0.sections[0].items[0].id = "" }),
            (
                "sections[0].items[0].id: 1 to 64 bytes",
                { $0.sections[0].items[0].id = String(repeating: "x", count: 65) }
            ),
            ("sections[1].items[0].id: another item has the id 1-1", { $0.sections[1].items[0].id = "1-1" }),
            ("sections[0].items[0].sets: 1 to 30", { $0.sections[0].items[0].sets = [] }),
            (
                "sections[0].items[0].sets: 1 to 30",
                { $0.sections[0].items[0].sets = Array(repeating: .init(), count: 31) }
            ),
            (
                "sections[1].items[1].sets: at most one, because the section's clock paces them",
                { $0.sections[1].items[1].sets = [.init(), .init()] }
            ),
            (
                "sections[0].items[0].sets[0].repetitions: 1 to 1000",
                { $0.sections[0].items[0].sets?[0].repetitions = 0 }
            ),
            ("sections[0].items[0].sets[0].weight: 0 to 1000 kg", { $0.sections[0].items[0].sets?[0].weight = .nan }),
            ("sections[0].items[0].sets[0].time: 1 to 36000 s", { $0.sections[0].items[0].sets?[0].time = 0 }),
            ("sections[0].items[0].sets[0].rest: 0 to 3600 s", { $0.sections[0].items[0].sets?[0].rest = 3_601 }),
            (
                "sections[0].items[0].alternatives: at most 8",
                { $0.sections[0].items[0].alternatives = (0..<9).map { PlannedExercise(name: "\($0)") } }
            ),
            (
                "sections[0].items[0].alternatives[0].name: duplicate",
                { $0.sections[0].items[0].alternatives = [PlannedExercise(name: "Squat")] }
            ),
            (
                "sections[0].items[0].alternatives[0].sets[0].weight: 0 to 1000 kg",
                { $0.sections[0].items[0].alternatives = [PlannedExercise(name: "a", sets: [.init(weight: -1)])] }
            ),
            (
                "sections: more than 60 items",
                { $0.sections = (0..<4).map { _ in .init(items: (0..<16).map { Item(name: "\($0)") }) } }
            ),
            (
                "sections: more than 200 sets in all rounds",
                { $0.sections[0].timer = TimerConfiguration(.forTime, rounds: 199) }
            ),
            (
                "sections: more than 200 sets in all rounds",
                {
                    let many = PlannedExercise(name: "a", sets: Array(repeating: .init(), count: 30))
                    $0.sections[0].items = (0..<7).map { Item(name: "\($0)", alternatives: [many]) }
                }
            ),
        ]
        for (error, change) in changes { #expect(Self.validationError(change) == error) }
    }

    @Test(
        arguments: [
            (.init(.stopwatch, work: 10), "work: not for stopwatch"),
            (.init(.stopwatch, rounds: 2), "rounds: not for stopwatch"),
            (.init(.countdown), "work: missing for countdown"), (.init(.countdown, work: 0.999), "work: 1 to 36000 s"),
            (.init(.countdown, work: 60, cap: 60), "cap: not for countdown"),
            (.init(.interval, rounds: 2), "work: missing for interval"),
            (.init(.interval, work: 20), "rounds: missing for interval"),
            (.init(.interval, work: 20, rest: -1, rounds: 2), "rest: 0 to 3600 s"),
            (.init(.interval, work: 20, rest: .infinity, rounds: 2), "rest: 0 to 3600 s"),
            (.init(.interval, work: 20, rounds: 0), "rounds: 1 to 200"),
            (.init(.emom, rest: 10, rounds: 2), "rest: not for emom"), (.init(.amrap), "cap: missing for amrap"),
            (.init(.amrap, rounds: 3, cap: 60), "rounds: not for amrap"),
            (.init(.amrap, cap: 36_001), "cap: 1 to 36000 s"),
            (.init(.forTime, work: 60), "work: not for forTime"), (.init(.forTime, rounds: .max), "rounds: 1 to 200"),
        ] as [(TimerConfiguration, String)])
    func `a timer refuses fields of other timers`(timer: TimerConfiguration, error: String) {
        #expect(timer.validationError == error)
        #expect(Self.validationError { $0.sections[0].timer = timer } == "sections[0].timer.\(error)")
    }

    @Test func `a section without a timer uses the workout's timer or a stopwatch`() {
        let definition = WorkoutDefinition(
            timer: TimerConfiguration(.amrap, cap: 60),
            sections: [
                .init(items: [Item(name: "x")]), .init(timer: TimerConfiguration(.stopwatch), items: [Item(name: "y")]),
            ])
        #expect(SessionPlan(definition).blocks.map(\.timer.type) == [.amrap, .stopwatch])
        let plain = WorkoutDefinition(sections: [.init(items: [Item(name: "x"), Item(name: "y")])])
        #expect(SessionPlan(plain).blocks.map(\.timer) == [TimerConfiguration(.stopwatch)])
        #expect(SessionPlan(plain).blocks.flatMap(\.items).map(\.id) == ["1-1", "1-2"])
    }
}
