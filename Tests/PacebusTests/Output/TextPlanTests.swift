import Bus
import Client
import Foundation
import ServiceKit
import Testing
import Workouts

@testable import Pacebus

/// The text of a planned workout in each phase of each clock.
@Suite struct TextPlanTests {
    private let start = Timestamp(seconds: 1_800_000_000)
    private let key = SessionKey(User("ann")!, SessionID(UUID()))

    private func session(
        _ timer: TimerConfiguration?, _ items: [WorkoutDefinition.Item], countdown: Double = 0
    ) -> Session {
        var begin = SessionStart(activity: .other, countdown: countdown)
        begin.definition = WorkoutDefinition(sections: [.init(name: "Main", timer: timer, items: items)])
        return Session(key: key, start: begin, at: start, now: start)
    }

    private func item(_ id: String, _ name: String, _ sets: PlannedSet...) -> WorkoutDefinition.Item {
        WorkoutDefinition.Item(id: id, name: name, sets: sets.isEmpty ? nil : sets)
    }

    /// The line of a session `seconds` after its start, from a state that is `age` seconds older.
    private func line(_ session: Session, _ seconds: Double, after age: Double = 0) -> String {
        var session = session
        _ = session.advance(to: start + seconds - age)
        return Text.live(
            session.state(revision: 1), session.planState(start + seconds - age), nil, at: start + seconds)
    }

    @Test func `sets are printed with repetitions and weight`() {
        #expect(Text.set(PlannedSet(repetitions: 8, weight: 62.5)) == "8 × 62.5 kg")
        #expect(Text.set(PlannedSet(repetitions: 5, weight: 100, rest: 90)) == "5 × 100 kg")
        #expect(Text.set(PlannedSet(repetitions: 12)) == "12 repetitions")
        #expect(Text.set(PlannedSet(repetitions: 1, weight: 0)) == "1 repetition")
        #expect(Text.set(PlannedSet(weight: 24, time: 40)) == "24 kg, 0:40")
        #expect(Text.set(PlannedSet(time: 90)) == "1:30")
        #expect(Text.set(PlannedSet(rest: 90)) == nil)
    }

    @Test func `timers are printed with their intervals`() {
        #expect(Text.timer(TimerConfiguration(.stopwatch)) == "stopwatch")
        #expect(Text.timer(TimerConfiguration(.countdown, work: 300)) == "countdown, 5:00")
        #expect(
            Text.timer(TimerConfiguration(.interval, work: 40, rest: 20, rounds: 8))
                == "interval, 8 × 0:40 with 0:20 rest")
        #expect(Text.timer(TimerConfiguration(.interval, work: 40, rounds: 8)) == "interval, 8 × 0:40")
        #expect(Text.timer(TimerConfiguration(.emom, rounds: 10)) == "EMOM, 10 × 1:00")
        #expect(Text.timer(TimerConfiguration(.amrap, cap: 720)) == "AMRAP, 12:00")
        #expect(Text.timer(TimerConfiguration(.forTime)) == "for time, 1 round")
        #expect(Text.timer(TimerConfiguration(.forTime, rounds: 3, cap: 900)) == "for time, 3 rounds, within 15:00")
    }

    @Test func `a stopwatch shows set, rest and progress`() throws {
        var session = session(
            nil, [item("bench", "Bench Press", .init(repetitions: 8, weight: 60, rest: 90), .init(time: 30))])
        #expect(line(session, 61.9) == "1:01 · Main · Bench Press, set 1 of 2, 8 × 60 kg · 0/1 exercises")
        try session.apply(.plan(.completeSet(SetCompletion())), at: start + 70)
        #expect(line(session, 80) == "1:20 · Main, rest, 1:20 left · Bench Press, set 2 of 2, 0:30 · 0/1 exercises")
        #expect(line(session, 80, after: 9.5) == line(session, 80))
        #expect(line(session, 165) == "2:45 · Main, 0:25 left · Bench Press, set 2 of 2, 0:30 · 0/1 exercises")
        #expect(line(session, 200) == "3:20 · Main, time is up · Bench Press, set 2 of 2, 0:30 · 0/1 exercises")
        try session.apply(.plan(.completeSet(SetCompletion())), at: start + 201)
        #expect(line(session, 202) == "3:22 · Main, done · Bench Press, all 2 sets done · 1/1 exercises")
    }

    @Test func `a countdown shows the time left`() {
        let session = session(TimerConfiguration(.countdown, work: 300), [item("jog", "Jog")])
        #expect(line(session, 10.2) == "0:10 · Main, 4:50 left · Jog · 0/1 exercises")
        // Until the engine publishes the next phase.
        #expect(line(session, 300.4, after: 1) == "5:00 · Main, 0:00 left · Jog · 0/1 exercises")
        #expect(line(session, 301) == "5:01 · Main, time is up · Jog · 1/1 exercises")
    }

    @Test func `intervals show round, work and rest`() {
        let session = session(
            TimerConfiguration(.interval, work: 40, rest: 20, rounds: 8), [item("a", "Sprint"), item("b", "Skip")])
        #expect(line(session, 5) == "0:05 · Main, round 1 of 8, work, 0:35 left · Sprint · 0/2 exercises")
        #expect(line(session, 45) == "0:45 · Main, round 1 of 8, rest, 0:15 left · next Skip · 0/2 exercises")
        #expect(line(session, 60) == "1:00 · Main, round 2 of 8, work, 0:40 left · Skip · 0/2 exercises")
    }

    @Test func `an emom shows the minute and its set`() throws {
        var session = session(
            TimerConfiguration(.emom, rounds: 10), [item("swing", "Swing", .init(repetitions: 15, weight: 20))])
        #expect(
            line(session, 130)
                == "2:10 · Main, round 3 of 10, work, 0:50 left · Swing, 15 × 20 kg · 0/1 exercises")
        try session.apply(.plan(.completeSet(SetCompletion())), at: start + 131)
        #expect(line(session, 132) == "2:12 · Main, round 3 of 10, rest, 0:48 left · Swing, done · 0/1 exercises")
    }

    @Test func `endless rounds are counted`() throws {
        var session = session(TimerConfiguration(.amrap, cap: 720), [item("p", "Pull-up", .init(repetitions: 5))])
        try session.apply(.plan(.completeSet(SetCompletion())), at: start + 20)
        #expect(line(session, 25) == "0:25 · Main, round 2, 11:35 left · Pull-up, 5 repetitions · 1 round")
    }

    @Test func `the last line of an AMRAP has its rounds and repetitions`() throws {
        var session = session(
            TimerConfiguration(.amrap, cap: 720),
            [item("p", "Pull-up", .init(repetitions: 5)), item("s", "Squat", .init(repetitions: 15))])
        var texts: [String] = []
        for second in [20.0, 40, 60] {
            try session.apply(.plan(.completeSet(SetCompletion())), at: start + second)
            var ended = session
            try ended.apply(.end(streams: [:]), at: start + 70)
            texts.append(Text.summary(WorkoutRecord(ended, metrics: nil, isComplete: true, revision: 1)))
        }
        #expect(
            texts == [
                "Workout: 1:10, 0 rounds and 5 repetitions", "Workout: 1:10, 1 round",
                "Workout: 1:10, 1 round and 5 repetitions",
            ])
        let state = try #require(session.planState(start + 70))
        #expect(
            Text.plan(state, isRunning: true, at: start + 70).contains("  done: 1 round and 5 repetitions, 3 sets\n"))
    }

    @Test func `a workout of the history is a line`() throws {
        var start = SessionStart(activity: .running, countdown: 0, timeZone: "Japan")
        start.name = "Dawn"
        var session = Session(key: key, start: start, at: self.start, now: self.start)
        try session.apply(.end(streams: [:]), at: self.start + 754)
        let record = WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1)
        #expect(Text.workout(WorkoutOverview(record)) == "\(key.session)  2027-01-15 17:00  Dawn: 12:34\n")
    }

    @Test func `for time shows the elapsed time or the time left`() {
        let open = session(TimerConfiguration(.forTime, rounds: 3), [item("p", "Pull-up")])
        #expect(line(open, 65, after: 5) == "1:05 · Main, round 1 of 3, 1:05 so far · Pull-up · 0/1 exercises")
        let capped = session(TimerConfiguration(.forTime, rounds: 3, cap: 600), [item("p", "Pull-up")])
        #expect(line(capped, 65) == "1:05 · Main, round 1 of 3, 8:55 left · Pull-up · 0/1 exercises")
    }

    @Test func `a pause stops the clock and shows it`() throws {
        var session = session(TimerConfiguration(.countdown, work: 300), [item("jog", "Jog")])
        try session.apply(.pause, at: start + 30)
        #expect(line(session, 900, after: 60) == "paused at 0:30 · Main, 4:30 left · Jog · 0/1 exercises")
        try session.apply(.suspend, at: start + 40)
        #expect(line(session, 900) == "suspended at 0:30 · Main, 4:30 left · Jog · 0/1 exercises")
        try session.apply(.resume, at: start + 1_000)
        #expect(line(session, 1_010) == "0:40 · Main, 4:20 left · Jog · 0/1 exercises")
    }

    @Test func `the countdown is shown before the start`() {
        let session = session(TimerConfiguration(.countdown, work: 300), [item("jog", "Jog")], countdown: 3)
        #expect(line(session, 1.2) == "starts in 0:02 · Main, 5:00 left · Jog · 0/1 exercises")
    }

    @Test func `a session without a plan shows clock and live metrics`() {
        let session = Session(key: key, start: SessionStart(activity: .running, countdown: 0), at: start, now: start)
        var metrics = MetricsSnapshot(user: key.user, revision: 1)
        metrics.distance = 2_345
        metrics.heartRate = 141.6
        let state = session.state(revision: 1)
        #expect(Text.live(state, nil, metrics, at: start + 754) == "12:34 · 2.35 km · 142 bpm")
        #expect(Text.live(state, nil, metrics, at: nil) == "active")
    }

    @Test func `the lap in progress ticks, and pace or speed follow the activity`() {
        let session = Session(key: key, start: SessionStart(activity: .swimming, countdown: 0), at: start, now: start)
        var state = session.state(revision: 1)
        state.laps = [start + 60, start + 700]
        var metrics = MetricsSnapshot(user: key.user, revision: 1)
        metrics.distance = 500
        metrics.displayPace = 1_050
        metrics.lap = 3
        metrics.lapDistance = 25
        #expect(Text.live(state, nil, metrics, at: start + 754) == "12:34 · 500 m · 1:45 /100 m · lap 3, 0:54, 25 m")
        metrics.lap = 2
        metrics.displayPace = nil
        metrics.displaySpeed = 6.25
        #expect(Text.live(state, nil, metrics, at: start + 754) == "12:34 · 500 m · 22.5 km/h · lap 3, 0:54")
        metrics.devices = [
            Device("strap-1")!: DevicePresence(newest: start + 700),
            Device("watch-1")!: DevicePresence(newest: start + 750, battery: 0.8),
        ]
        metrics.newest = start + 750
        metrics.activeSeconds = 250
        #expect(Text.metrics(metrics, .cycling).contains("  average speed: 7.2 km/h\n"))
        metrics.averagePace = 500
        #expect(!Text.metrics(metrics, .running).contains("average speed"))
        #expect(
            Text.metrics(metrics, .running).hasSuffix("  strap-1: silent for 0:50\n  watch-1: battery 80 %, sending\n"))
    }

    @Test func `a recording published later shows its own time`() {
        let session = Session(
            key: key, start: SessionStart(activity: .running, countdown: 0), at: start, now: start + 1e6)
        var metrics = MetricsSnapshot(user: key.user, revision: 1)
        metrics.newest = start + 60
        let state = session.state(revision: 1)
        #expect(Text.moment(of: state, nil, metrics, now: start + 1e6) == start + 60)
        #expect(Text.moment(of: state, nil, nil, now: start + 1e6) == start + 1e6)
    }

    @Test func `a saved plan is listed with its exercises`() throws {
        let plan = try #require(PlanID("11111111-2222-4333-8444-123456789abc"))
        let saved = SavedPlans.Plan(plan: plan, savedAt: start, definition: try ExamplePlan.intervals.definition())
        #expect(
            Text.savedPlan(saved, try #require(TimeZone(identifier: "Europe/Berlin")))
                == "\(plan)  6 × 3 Minutes, saved 2027-01-15 09:00\n  Easy Run, Fast Run, Easy Jog\n")
    }
}
