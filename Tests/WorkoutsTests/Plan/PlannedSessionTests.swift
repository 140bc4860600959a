import Testing

@testable import Workouts

/// A session with a plan: the actions that its status allows, and suspension without effect.
@Suite struct PlannedSessionTests {
    private static let definition = WorkoutDefinition(sections: [
        .init(items: [.init(id: "a", name: "A", sets: [.init(repetitions: 5, rest: 60), .init(repetitions: 5)])]),
        .init(timer: TimerConfiguration(.emom, rounds: 2), items: [.init(id: "b", name: "B")]),
    ])

    private static func session(
        _ definition: WorkoutDefinition? = definition, countdown: Double = 0, now: Double = 0
    ) -> Session {
        var start = SessionStart(activity: .traditionalStrength, countdown: countdown)
        start.definition = definition
        let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)
        return Session(key: key, start: start, at: year2026, now: year2026 + now)
    }

    private static let complete = SessionAction.plan(.completeSet(SetCompletion()))

    @Test(arguments: SessionStatus.allCases)
    func `a plan advances while its session is active, paused or suspended`(status: SessionStatus) throws {
        var session = Self.session(countdown: status == .preparing ? 10 : 0)
        switch status {
        case .preparing, .active: break
        case .paused: try session.apply(.pause, at: year2026 + 5)
        case .suspended: try session.apply(.suspend, at: year2026 + 5)
        case .saving: try session.apply(.end(streams: [:]), at: year2026 + 5)
        case .completed:
            try session.apply(.end(streams: [:]), at: year2026 + 5)
            session.complete()
        case .canceled: try session.apply(.discard, at: year2026 + 5)
        case .deleted: session.delete()
        }
        let before = session
        if [.active, .paused, .suspended].contains(status) {
            try session.apply(Self.complete, at: year2026 + 6)
            #expect(session.planned?.progress.completedCount == 1)
            #expect(session.statusName == status)
        } else {
            let refusal = #expect(throws: Refusal.self) { try session.apply(Self.complete, at: year2026 + 6) }
            #expect(refusal?.code == (status == .deleted ? "session_not_found" : "invalid_state"))
            #expect(session == before)
        }
    }

    @Test func `a plan action on a session without a plan is refused`() {
        var session = Self.session(nil)
        let refusal = #expect(throws: Refusal.self) { try session.apply(Self.complete, at: year2026) }
        #expect(refusal == .noPlan)
        #expect(session.planState(year2026) == nil && session.phaseEnd(after: year2026) == nil)
    }

    @Test func `a resumed session has the same exercise, sets and clock`() throws {
        var session = Self.session()
        try session.apply(Self.complete, at: year2026 + 30)
        try session.apply(.plan(.setPresentationMode(.list)), at: year2026 + 31)
        try session.apply(.suspend, at: year2026 + 50)
        let left = try #require(session.planState(year2026 + 9_000))
        #expect(left.timer.phase == .rest && left.timer.remaining == 40 && left.timer.endsAt == nil)
        #expect(left.timer.elapsed == 50 && left.timer.asOf == year2026 + 50)
        #expect(session.phaseEnd(after: year2026 + 60) == nil)
        try session.apply(.resume, at: year2026 + 10_000)
        let again = try #require(session.planState(year2026 + 10_000))
        #expect(again.plan == left.plan && again.progress == left.progress)
        #expect(again.progress.item == "a" && again.progress.set == 1)
        #expect(again.timer.elapsed == 50 && again.timer.endsAt == year2026 + 10_040)
        #expect(session.phaseEnd(after: year2026 + 10_000) == year2026 + 10_040)
    }

    @Test func `a session suspended with all sets completed does not complete when resumed`() throws {
        var session = Self.session(WorkoutDefinition(sections: [.init(items: [.init(name: "A")])]))
        try session.apply(Self.complete, at: year2026 + 30)
        try session.apply(.suspend, at: year2026 + 30)
        try session.apply(.resume, at: year2026 + 500)
        let hasChanged = session.advance(to: year2026 + 10_000)
        #expect(!hasChanged && session.statusName == .active)
        let state = try #require(session.planState(year2026 + 10_000))
        #expect(state.timer.phase == .over && state.progress.done == 1 && state.progress.total == 1)
        #expect(session.phaseEnd(after: year2026 + 500) == nil)
    }

    @Test func `a report of a set before a pause is accepted after the pause`() throws {
        var session = Self.session()
        try session.apply(.pause, at: year2026 + 50)
        try session.apply(Self.complete, at: year2026 + 40)
        try session.apply(.resume, at: year2026 + 100)
        #expect(session.planned?.progress.completed["a"]?.map(\.at) == [year2026 + 40])
        // The pause began ten seconds into the rest.
        #expect(session.phaseEnd(after: year2026 + 100) == year2026 + 150)
    }

    @Test func `an action before the start takes effect at the start`() throws {
        var session = Self.session(countdown: 10)
        _ = session.advance(to: year2026 + 10)
        try session.apply(Self.complete, at: year2026 + 5)
        #expect(session.planned?.progress.completed["a"]?.map(\.at) == [year2026 + 10])
    }

    @Test func `a recording has no phase deadline and shows the plan at its latest event`() throws {
        var session = Self.session(now: 86_400)
        try session.apply(Self.complete, at: year2026 + 30)
        #expect(session.phaseEnd(after: year2026 + 86_400) == nil)
        #expect(session.planCue(year2026 + 86_400) == nil)
        #expect(session.planState(year2026 + 86_400)?.timer.asOf == year2026 + 30)
    }

    @Test func `a recovered session ends at its last completed set`() throws {
        var session = Self.session()
        try session.apply(Self.complete, at: year2026 + 600)
        session.expire()
        try session.apply(.recover, at: year2026 + 90_000)
        #expect(session.endedAt == year2026 + 600)
    }

    @Test func `changes of the plan stay within the session`() throws {
        var session = Self.session()
        try session.apply(.plan(.adjustDifficulty(item: "a", .harder)), at: year2026 + 1)
        #expect(session.planned?.plan.item("a")?.sets.first?.repetitions == 6)
        #expect(Self.definition.sections[0].items[0].sets?.first?.repetitions == 5)
    }

    @Test func `a coach's advice is accepted while the session is unfinished`() throws {
        var session = Self.session()
        let advice = CoachAdvice(["a": PlannedExercise(name: "Other")])
        try session.take(advice, at: year2026 + 1)
        #expect(session.planned?.plan.item("a")?.exercise.name == "Other")
        try session.apply(.end(streams: [:]), at: year2026 + 5)
        #expect(throws: Refusal.self) { try session.take(advice, at: year2026 + 1) }
    }
}
