import Bus
import Foundation
import Testing
import Workouts

@testable import LiveActivityPublisher

/// Pushes of a planned workout.
struct MachinePlanTests {
    /// A session with a plan that begins now.
    private static func session(_ run: ActivityMachineRun, _ sections: WorkoutDefinition.Section...) -> Session {
        var start = SessionStart(activity: .hiit, countdown: 0)
        start.definition = WorkoutDefinition(sections: sections)
        return Session(key: ActivityMachineRun.key(), start: start, at: run.now, now: run.now)
    }

    private static let strength = WorkoutDefinition.Section(items: [
        .init(name: "Squat", sets: Array(repeating: PlannedSet(repetitions: 5, rest: 90), count: 3)),
        .init(name: "Row", sets: [PlannedSet(repetitions: 8)]), .init(name: "Plank", sets: [PlannedSet(time: 60)]),
    ])

    private static func intervals(work: Double, rest: Double) -> WorkoutDefinition.Section {
        .init(
            timer: TimerConfiguration(.interval, work: work, rest: rest, rounds: 8),
            items: [.init(name: "Sprint"), .init(name: "Jump")])
    }

    @Test func `an update shows the exercise, the set and the plan's progress`() throws {
        var run = ActivityMachineRun()
        var session = Self.session(run, Self.strength)
        run.receive(session)
        run.register(.activity, of: session.key)
        let first = run.exchange()[0].read.content
        #expect((first.exercise, first.phase, first.set, first.sets) == ("Squat", "work", 1, 3))
        #expect((first.round, first.rounds, first.exercisesDone, first.exercisesTotal) == (1, 1, 0, 3))
        #expect(first.phaseEndsAt == nil && first.phaseRemaining == nil)
        run.pass(30)
        try session.apply(.plan(.completeSet(SetCompletion())), at: run.now)
        run.receive(session)
        let second = run.exchange()[0].read.content
        #expect((second.exercise, second.phase, second.set) == ("Squat", "rest", 2))
        #expect(second.phaseEndsAt == (run.now + 90).seconds)
        for _ in 0..<2 { try session.apply(.plan(.completeSet(SetCompletion())), at: run.now) }
        run.pass(2)
        run.receive(session)
        let third = run.exchange()[0].read.content
        #expect((third.exercise, third.set, third.sets, third.exercisesDone) == ("Row", 1, 1, 1))
    }

    @Test func `while the clock is stopped, an update shows the phase's remaining time`() throws {
        var run = ActivityMachineRun()
        var session = Self.session(run, Self.intervals(work: 20, rest: 10))
        run.receive(session)
        run.register(.activity, of: session.key)
        run.exchange()
        run.pass(35)
        try session.apply(.pause, at: run.now)
        run.receive(session)
        let paused = run.exchange()[0]
        #expect(paused.priority == 10)
        #expect((paused.read.content.round, paused.read.content.exercise) == (2, "Jump"))
        #expect(paused.read.content.phaseRemaining == 15 && paused.read.content.phaseEndsAt == nil)
        run.pass(100)
        try session.apply(.resume, at: run.now)
        run.receive(session)
        let resumed = run.exchange()[0].read.content
        #expect(resumed.phaseEndsAt == (run.now + 15).seconds && resumed.phaseRemaining == nil)
    }

    @Test func `a rest shows the next exercise`() {
        var run = ActivityMachineRun()
        let session = Self.session(run, Self.intervals(work: 20, rest: 10))
        run.receive(session)
        run.register(.activity, of: session.key)
        let contents = run.run(30) { $0.receive(session) }.map(\.push.read.content)
        #expect(contents.first { $0.phase == "rest" }?.exercise == contents.first { $0.round == 2 }?.exercise)
        #expect(contents.first?.exercise != contents.last?.exercise)
    }

    @Test func `time passing within a phase is no change`() {
        var run = ActivityMachineRun()
        let session = Self.session(run, Self.intervals(work: 300, rest: 60))
        run.receive(session)
        run.register(.activity, of: session.key)
        let sent = run.run(60) { $0.receive(session) }
        #expect(sent.map { $0.time.seconds(since: sent[0].time) } == [0, 10, 20, 30, 40, 50])
        #expect(sent.dropFirst().allSatisfy { $0.push.priority == 5 })
    }

    @Test func `a new phase is pushed within two seconds, with priority once a minute`() {
        var run = ActivityMachineRun()
        let session = Self.session(run, Self.intervals(work: 20, rest: 10))
        let begin = run.now
        run.receive(session)
        run.register(.activity, of: session.key)
        var contents: [(second: Double, phase: String?, round: Int?, priority: Int)] = []
        for sent in run.run(120, { $0.receive(session) }) {
            let content = sent.push.read.content
            guard contents.last?.phase != content.phase || contents.last?.round != content.round else { continue }
            contents.append((sent.time.seconds(since: begin), content.phase, content.round, sent.push.priority))
        }
        #expect(contents.map(\.phase) == ["work", "rest", "work", "rest", "work", "rest", "work", "rest", "work"])
        #expect(contents.map(\.round) == [1, 1, 2, 2, 3, 3, 4, 4, 5])
        for (cue, moment) in zip(contents.dropFirst(), [20.0, 30, 50, 60, 80, 90, 110, 120]) {
            #expect((moment...moment + 2).contains(cue.second))
        }
        // The first push has priority. A pause and the end have priority too.
        #expect(contents.map(\.priority) == [10, 5, 5, 5, 5, 10, 5, 5, 5])
    }

    @Test func `of quick changes only the newest is pushed`() throws {
        var run = ActivityMachineRun()
        var session = Self.session(run, Self.strength)
        run.receive(session)
        run.register(.activity, of: session.key)
        run.exchange()
        for item in ["1-2", "1-3", "1-2", "1-3"] {
            run.pass(0.5)
            try session.apply(.plan(.goTo(item: item)), at: run.now)
            run.receive(session)
        }
        #expect(run.exchange().map(\.read.content.exercise) == ["Plank"])
    }

    @Test func `after a restart an update shows the current phase, and an end shows the progress`() throws {
        var run = ActivityMachineRun()
        var session = Self.session(run, Self.strength)
        run.receive(session)
        run.register(.activity, of: session.key)
        run.exchange()
        try session.apply(.plan(.completeSet(SetCompletion(SetReference(item: "1-2")))), at: run.now + 1)
        run.pass(1)
        run.receive(session)
        run.crash(after: 2)
        run.pass(2)
        let content = run.exchange()[0].read.content
        #expect((content.exercise, content.exercisesDone) == ("Squat", 1))
        run.pass(2)
        try session.apply(.end(streams: [:]), at: run.now)
        run.receive(session)
        let end = run.exchange()[0].read
        #expect(end.event == "end" && end.content.isFinished)
        #expect((end.content.exercisesDone, end.content.exercisesTotal) == (1, 3))
    }

    @Test func `a session without a plan has no plan fields`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        let content = run.exchange()[0].read.content
        #expect(content.exercise == nil && content.phase == nil && content.round == nil && content.sets == nil)
    }
}
