import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// A session with a plan on the bus.
struct PlanTests {
    private var planned: PlannedEngine

    init() async throws {
        planned = try await PlannedEngine()
    }

    @Test mutating func `a definition becomes the session's plan, and current shows the progress`() async throws {
        try await planned.begin(.strength)
        let plan = try #require(planned.plan)
        #expect(plan.plan.blocks.map { $0.items.map(\.id) } == [["bench", "row"]])
        #expect(plan.progress.item == "bench" && plan.progress.set == 0)
        #expect(planned.state?.name == "Upper Body")
        #expect(planned.state?.activity == .traditionalStrength)
        #expect(planned.pill == "0/2")
        #expect(planned.current?.details?.offersResume == true)
    }

    @Test mutating func `an invalid definition is refused with the field's name, and nothing starts`()
        async throws
    {
        var definition = WorkoutDefinition.strength
        definition.sections[0].items[1].sets?[2].weight = -1
        await #expect(throws: PlannedEngine.Refused.self) { try await planned.begin(definition) }
        var start = SessionStart(activity: .other)
        start.definition = definition
        let error = try await planned.perform(.start(start))?.error
        #expect(error?.code == "invalid_command")
        #expect(error?.message == "definition.sections[0].items[1].sets[2].weight: 0 to 1000 kg")
        #expect(planned.record == nil)
    }

    @Test mutating func `sets are completed, undone, skipped and flagged, and an exercise's last set advances`()
        async throws
    {
        try await planned.begin(.strength)
        for second in [40.0, 140, 240] {
            try await planned.advance(to: second, step: 10)
            #expect(try await planned.perform(.completeSet(SetCompletion()))?.ok == true)
        }
        #expect(planned.plan?.progress.item == "row")
        #expect(planned.plan?.progress.done == 1)
        #expect(planned.plan?.timer.phase == .rest)
        #expect(planned.plan?.timer.endsAt == PlannedEngine.start + 300)
        #expect(planned.pill == "1/2")
        try await planned.perform(.uncompleteSet(SetReference()))
        #expect(planned.plan?.progress.item == "bench" && planned.plan?.progress.set == 2)
        try await planned.perform(.flagPain(item: nil))
        try await planned.perform(.skipExercise(item: nil))
        #expect(planned.plan?.progress.progress.painFlagged == ["bench"])
        #expect(planned.plan?.progress.progress.skipped == ["bench"])
        #expect(planned.plan?.progress.item == "row")
        #expect(planned.plan?.progress.total == 1)
        #expect(try await planned.perform(.goTo(item: "unknown"))?.error?.code == "invalid_command")
    }

    @Test mutating func `plan commands are refused without a plan, before its start and after its end`()
        async throws
    {
        var start = SessionStart(activity: .other, countdown: 30)
        start.definition = .strength
        try await planned.perform(.start(start))
        #expect(try await planned.perform(.completeSet(SetCompletion()))?.error?.code == "invalid_state")
        try await planned.advance(to: 31, step: 1)
        #expect(try await planned.perform(.completeSet(SetCompletion()))?.ok == true)
        try await planned.perform(.end(streams: [:]))
        #expect(try await planned.perform(.completeSet(SetCompletion()))?.error?.code == "invalid_state")
        var other = try await PlannedEngine()
        try await other.perform(.start(SessionStart(activity: .running, countdown: 0)))
        let error = try await other.perform(.completeSet(SetCompletion()))?.error
        #expect(error?.message == "the session has no plan; start one with a definition")
    }

    @Test mutating func `each phase is announced once within a tick, and published in state`()
        async throws
    {
        try await planned.begin(.intervals)
        try await planned.advance(to: 100)
        let cues = planned.announcements.filter { $0.kind == .interval }
        #expect(cues.map { $0.at.seconds(since: PlannedEngine.start) } == [0, 20, 30, 50, 60, 80])
        #expect(
            cues.map(\.text) == [
                "Round 1 of 3: Sprint", "Rest, 0:10", "Round 2 of 3: Sprint", "Rest, 0:10", "Round 3 of 3: Sprint",
                "Time is up",
            ])
        #expect(planned.plan?.timer.phase == .over)
    }

    @Test(arguments: [
        (TimerConfiguration(.amrap, cap: 600), ["Round 1: Pull-up", "Squat", "Round 2: Pull-up", "Squat"]),
        (
            TimerConfiguration(.forTime, rounds: 2),
            ["Round 1 of 2: Pull-up", "Squat", "Round 2 of 2: Pull-up", "Squat", "Done"]
        ),
    ])
    mutating func `a change of exercise inside a round is announced once`(timer: TimerConfiguration, texts: [String])
        async throws
    {
        let items = ["Pull-up", "Squat"].map { name in
            WorkoutDefinition.Item(id: name.lowercased(), name: name, sets: [PlannedSet(repetitions: 5)])
        }
        try await planned.begin(
            WorkoutDefinition(name: "Rounds", focus: ["conditioning"], sections: [.init(timer: timer, items: items)]))
        for second in stride(from: 20.0, to: 20.0 * Double(texts.count), by: 20) {
            try await planned.advance(to: second, step: 1)
            #expect(try await planned.perform(.completeSet(SetCompletion()))?.ok == true)
        }
        try await planned.advance(to: 20 * Double(texts.count), step: 1)
        #expect(planned.announcements.map(\.text) == texts)
        #expect(planned.announcements.allSatisfy { $0.kind == .interval })
    }

    @Test mutating func `a phase is published within 250 ms`() async throws {
        try await planned.begin(.intervals)
        for (second, phase) in [(20.0, PlanTimer.Phase.rest), (30, .work), (50, .rest), (60, .work), (80, .over)] {
            try await planned.advance(to: second - 0.01)
            #expect(planned.plan?.timer.phase != phase)
            try await planned.advance(to: second + 0.25)
            #expect(planned.plan?.timer.phase == phase, "\(second)")
        }
    }

    @Test mutating func `after a downtime the current phase is announced, and missed ones are not`()
        async throws
    {
        try await planned.begin(.intervals)
        try await planned.advance(to: 10, step: 1)
        try await planned.restart(after: 45)
        #expect(planned.announcements.map(\.text) == ["Round 1 of 3: Sprint", "Rest, 0:10"])
        #expect(planned.announcements.last?.at == PlannedEngine.start + 50)
        #expect(planned.plan?.timer.round == 2 && planned.plan?.timer.phase == .rest)
        try await planned.restart(after: 1)
        #expect(planned.announcements.count == 2)
    }

    @Test mutating func `a clock corrected backwards by an hour announces the current and later phases`()
        async throws
    {
        try await planned.begin(.intervals)
        try await planned.advance(to: 10, step: 1)
        planned.clock.advance(by: .seconds(3_600))
        try await planned.advance(to: 3_611)
        #expect(planned.plan?.timer.phase == .over)
        planned.clock.step(by: .seconds(-3_600))
        try await planned.advance(to: 31)
        #expect(planned.plan?.timer.phase == .work && planned.plan?.timer.round == 2)
        #expect(
            planned.announcements.map(\.text) == [
                "Round 1 of 3: Sprint", "Time is up", "Round 1 of 3: Sprint", "Rest, 0:10", "Round 2 of 3: Sprint",
            ])
    }

    @Test mutating func `a pause delays later phases, and none changes during it`() async throws {
        try await planned.begin(.intervals)
        try await planned.advance(to: 15, step: 1)
        try await planned.perform(.pause)
        #expect(planned.plan?.timer.remaining == 5)
        #expect(planned.plan?.timer.endsAt == nil)
        try await planned.advance(to: 115, step: 1)
        #expect(planned.announcements.count == 1)
        try await planned.perform(.resume)
        #expect(planned.plan?.timer.endsAt == PlannedEngine.start + 120)
        try await planned.advance(to: 120.2)
        #expect(planned.announcements.last?.text == "Rest, 0:10")
        #expect(planned.announcements.last?.at == PlannedEngine.start + 120)
    }

    @Test mutating func `a recording causes no announcements, and its rounds follow event time`() async throws {
        var start = SessionStart(activity: .running, countdown: 0)
        start.definition = .intervals
        try await planned.perform(.start(start), at: -86_400)
        try await planned.perform(.pause, at: -86_400 + 25)
        try await planned.perform(.resume, at: -86_400 + 125)
        try await planned.perform(.end(streams: [:]), at: -86_400 + 125 + 26)
        try await planned.advance(to: 12, step: 1)
        #expect(planned.announcements == [])
        let workout = try #require(planned.workout)
        let begins = workout.rounds?.map { $0.startedAt.seconds(since: PlannedEngine.start) + 86_400 }
        #expect(begins == [0, 130])
        #expect(workout.progress?.item == "sprint")
    }

    @Test mutating func `the record keeps plan, progress and rounds`() async throws {
        try await planned.begin(.strength)
        try await planned.perform(.completeSet(SetCompletion(repetitions: 6, weight: 62.5)), at: 30)
        try await planned.advance(to: 30, step: 10)
        try await planned.perform(.end(streams: [:]))
        try await planned.advance(to: 50, step: 1)
        let workout = try #require(planned.workout)
        #expect(workout.plan == planned.plan?.plan)
        #expect(workout.progress?.progress.completed["bench"]?.map(\.repetitions) == [6])
        let sets = workout.performedSets
        #expect(sets.map(\.kind) == [.active])
        #expect(sets.first?.weight == 62.5)
        #expect(sets.first?.exercise?.name == "Bench Press")
        #expect(workout.rounds == nil)
    }

    @Test mutating func `a moved deadline or a command without effect delays no phase`() async throws {
        try await planned.begin(.intervals)
        // The deadline moves three times by less than a second.
        for second in [19.5, 19.6, 19.7] {
            try await planned.advance(to: second)
            try await planned.perform(.pause)
            try await planned.perform(.resume)
        }
        try await planned.advance(to: 20.05, step: 0.35)
        try await planned.perform(.setPresentationMode(.workout))
        #expect(planned.plan?.timer.phase == .rest)
        for (second, phase) in [(30.0, PlanTimer.Phase.work), (50, .rest), (60, .work)] {
            try await planned.advance(to: second + 0.25)
            #expect(planned.plan?.timer.phase == phase, "\(second)")
        }
    }

    @Test mutating func `a phase is announced while writes fail`() async throws {
        try await planned.begin(.intervals)
        try await planned.advance(to: 19)
        planned.refuseDisk(true)
        try await planned.advance(to: 31)
        let cues = planned.announcements.filter { $0.kind == .interval }
        #expect(cues.map(\.text) == ["Round 1 of 3: Sprint", "Rest, 0:10", "Round 2 of 3: Sprint"])
        planned.refuseDisk(false)
        try await planned.advance(to: 33)
        #expect(planned.plan?.timer.phase == .work && planned.plan?.timer.round == 2)
    }

    @Test mutating func `a session at its command limit can still end`() async throws {
        try await planned.begin(.strength)
        for number in 1..<SessionEngineMachine.replyLimit {
            let reply = try await planned.perform(.setPresentationMode(number % 2 == 0 ? .list : .workout))
            #expect(reply?.ok == true)
        }
        #expect(try await planned.perform(.setPresentationMode(.list))?.error?.code == "invalid_state")
        #expect(try await planned.perform(.suspend)?.ok == true)
        #expect(try await planned.perform(.end(streams: [:]))?.ok == true)
    }
}
