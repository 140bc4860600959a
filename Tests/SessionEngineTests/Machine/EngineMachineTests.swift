import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// The machine's actions for commands, summaries and time.
struct EngineMachineTests {
    private static let start = Timestamp(seconds: 1_700_000_000)
    private var machine = SessionEngineMachine()
    private let user = User("demo")!
    private let client = Client("phone-1")!
    private let stream = StreamName("samples/watch-1")!

    private func key(_ number: UInt8 = 1) -> SessionKey {
        SessionKey(user, SessionID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number))))
    }

    private func command(_ action: SessionAction, at seconds: Double = 0) -> Command {
        Command(id: CommandID(UUID()), client: client, at: Self.start + seconds, action: action)
    }

    private let running = SessionAction.start(SessionStart(activity: .running, countdown: 0))

    /// Performs a command at its own time and returns the reply.
    @discardableResult
    private mutating func perform(_ action: SessionAction, at seconds: Double, _ key: SessionKey) throws -> Reply {
        let actions = machine.applyCommand(command(action, at: seconds), for: key, now: Moment(Self.start + seconds))
        return try #require(replies(actions).first)
    }

    private func replies(_ actions: [SessionEngineAction]) -> [Reply] {
        actions.compactMap { if case .reply(_, _, let reply) = $0 { reply } else { nil } }
    }

    private func report(
        _ key: SessionKey, items: Int, revision: Int64, distance: Double = 1_000, state: Int64? = nil
    ) -> MetricsReport {
        var totals = MetricsSummary()
        totals.distance = distance
        return MetricsReport(
            revision: revision, state: state ?? machine.entries[key]?.record.revision ?? 0, next: [stream: items],
            chunks: 1, totals: totals)
    }

    @Test mutating func `a repeated command is applied once and gets the stored reply with the current time`() throws {
        try perform(running, at: 0, key())
        let lap = command(.lap, at: 10)
        let first = machine.applyCommand(lap, for: key(), now: Moment(Self.start + 10))
        let second = machine.applyCommand(lap, for: key(), now: Moment(Self.start + 15))
        #expect(machine.entries[key()]?.record.session.laps.count == 1)
        #expect(replies(second).map(\.revision) == replies(first).map(\.revision))
        #expect(replies(second).map(\.now) == [Self.start + 15])
        #expect(second.count == 1)
    }

    @Test mutating func `a repeated refused command is evaluated again and changes nothing`() throws {
        let pause = command(.pause, at: 5)
        let refused = machine.applyCommand(pause, for: key(), now: Moment(Self.start))
        #expect(replies(refused).map(\.error?.code) == ["session_not_found"])
        #expect(refused.count == 1)
        try perform(running, at: 0, key())
        #expect(replies(machine.applyCommand(pause, for: key(), now: Moment(Self.start + 5))).map(\.ok) == [true])
    }

    @Test mutating func `a second session is refused while one is unfinished and accepted while one is being saved`()
        throws
    {
        try perform(running, at: 0, key(1))
        let refused = try perform(running, at: 10, key(2))
        #expect(refused.error?.code == "session_in_progress")
        #expect(refused.error?.message.contains("\(key(1).session)") == true)
        try perform(.end(streams: [stream: 100]), at: 20, key(1))
        let saving = machine.entries[key(1)]?.record
        #expect(try perform(running, at: 21, key(2)).ok)
        #expect(machine.entries[key(1)]?.record == saving)
        #expect(machine.unfinished(user)?.session.key == key(2))
    }

    @Test mutating func `saves precede all messages`() throws {
        let actions = machine.applyCommand(command(running), for: key(), now: Moment(Self.start))
        let lastSave = try #require(actions.lastIndex { if case .saveReply = $0 { true } else { false } })
        let firstSent = try #require(actions.firstIndex { $0 == .publishState(key()) })
        #expect(lastSave < firstSent)
        #expect(actions.contains(.save(key())))
        #expect(actions.contains(.publishCurrent(user)))
    }

    @Test mutating func `a session completes when the summary covers all announced items`() throws {
        try perform(running, at: 0, key())
        try perform(.end(streams: [stream: 100]), at: 60, key())
        let early = machine.receiveMetricsReport(
            report(key(), items: 99, revision: 1), for: key(), now: Moment(Self.start + 61))
        #expect(early == [.save(key())])
        let stale = report(key(), items: 100, revision: 2, state: 1)
        #expect(machine.receiveMetricsReport(stale, for: key(), now: Moment(Self.start + 62)) == [.save(key())])
        let done = machine.receiveMetricsReport(
            report(key(), items: 100, revision: 3), for: key(), now: Moment(Self.start + 62))
        #expect(done.contains(.publishWorkout(key())))
        let record = try #require(machine.entries[key()]?.record)
        #expect(record.session.statusName == .completed)
        #expect(record.workout?.incomplete == nil)
        #expect(record.workout?.activeDuration == 60)
        #expect(record.workout?.distance == 1_000)
        #expect(record.workout?.mode == .phone)
    }

    /// Sessions from 0 to 60 s, whose `start` and `end` arrive at these seconds.
    @Test(
        arguments: [
            (nil, 0, 60, nil), (nil, 60, 7_200, nil), (nil, 3_600, 7_200, true), (nil, 100, 120, nil),
            (nil, 100, 121, true), (60, 60, 60, true), (61, 60, 60, nil),
        ] as [(Double?, Double, Double, Bool?)])
    mutating func `a completed state tells whether the session was over when it arrived, once it is complete`(
        endAt: Double?, startedAt: Double, endedAt: Double, isPast: Bool?
    ) throws {
        var start = SessionStart(activity: .running, countdown: 0)
        start.endAt = endAt.map { Self.start + $0 }
        _ = machine.applyCommand(command(.start(start), at: 0), for: key(), now: Moment(Self.start + startedAt))
        let end = command(.end(streams: [stream: 100]), at: 60)
        _ = machine.applyCommand(end, for: key(), now: Moment(Self.start + endedAt))
        #expect(machine.entries[key()]?.record.state.isPast == nil)
        let partial = report(key(), items: 99, revision: 1)
        _ = machine.receiveMetricsReport(partial, for: key(), now: Moment(Self.start + endedAt + 1))
        _ = machine.advance(to: Moment(Self.start + endedAt + 11))
        let incomplete = try #require(machine.entries[key()]?.record.state)
        #expect(incomplete.status == .completed && incomplete.isPast == nil)

        let other = SessionKey(user, key(2).session)
        start.replace = true
        _ = machine.applyCommand(command(.start(start), at: 0), for: other, now: Moment(Self.start + startedAt))
        _ = machine.applyCommand(
            command(.end(streams: [stream: 100]), at: 60), for: other, now: Moment(Self.start + endedAt))
        let all = report(other, items: 100, revision: 1)
        let done = machine.receiveMetricsReport(all, for: other, now: Moment(Self.start + endedAt + 1))
        #expect(done.contains(.publishState(other)))
        #expect(machine.entries[other]?.record.state.isPast == isPast)
    }

    @Test mutating func `a session finishes incomplete after ten seconds and is revised once the rest arrives`() throws
    {
        try perform(running, at: 0, key())
        try perform(.end(streams: [stream: 100]), at: 60, key())
        #expect(machine.advance(to: Moment(Self.start + 69.9)) == [])
        let finished = machine.advance(to: Moment(Self.start + 70))
        #expect(finished.contains(.publishWorkout(key())))
        let first = try #require(machine.entries[key()]?.record.workout)
        #expect(first.incomplete == true)
        let revised = machine.receiveMetricsReport(
            report(key(), items: 100, revision: 1), for: key(), now: Moment(Self.start + 80))
        #expect(revised.contains(.publishWorkout(key())))
        let second = try #require(machine.entries[key()]?.record.workout)
        #expect(second.incomplete == nil)
        #expect(second.revision > first.revision)
    }

    @Test mutating func `items beyond the announced counts revise the record 30 s after the last`() throws {
        try perform(running, at: 0, key())
        try perform(.end(streams: [stream: 100]), at: 60, key())
        _ = machine.receiveMetricsReport(
            report(key(), items: 100, revision: 1), for: key(), now: Moment(Self.start + 61))
        _ = machine.receiveMetricsReport(
            report(key(), items: 110, revision: 2), for: key(), now: Moment(Self.start + 70))
        _ = machine.receiveMetricsReport(
            report(key(), items: 120, revision: 3), for: key(), now: Moment(Self.start + 80))
        #expect(machine.advance(to: Moment(Self.start + 109)) == [])
        #expect(machine.advance(to: Moment(Self.start + 110)).contains(.publishWorkout(key())))
        #expect(machine.entries[key()]?.record.workout?.next == [stream: 120])
        #expect(machine.advance(to: Moment(Self.start + 1_000)) == [])
    }

    @Test mutating func `a repeated end publishes the record again`() throws {
        try perform(running, at: 0, key())
        let end = command(.end(streams: [stream: 1]), at: 60)
        _ = machine.applyCommand(end, for: key(), now: Moment(Self.start + 60))
        _ = machine.receiveMetricsReport(report(key(), items: 1, revision: 1), for: key(), now: Moment(Self.start + 61))
        let same = machine.applyCommand(end, for: key(), now: Moment(Self.start + 70))
        #expect(same.contains(.publishWorkout(key())))
        let another = machine.applyCommand(
            command(.end(streams: [stream: 1]), at: 60), for: key(), now: Moment(Self.start + 71))
        #expect(another.contains(.publishWorkout(key())))
        #expect(!another.contains(.publishState(key())))
    }

    @Test mutating func `a second device's end adds its streams and waits for them`() throws {
        let strap = try #require(StreamName("samples/strap-1"))
        try perform(running, at: 0, key())
        try perform(.end(streams: [stream: 10]), at: 60, key())
        let first = try #require(machine.entries[key()]?.record.endRevision)
        try perform(.end(streams: [strap: 5]), at: 61, key())
        let record = try #require(machine.entries[key()]?.record)
        #expect(record.session.streams == [stream: 10, strap: 5])
        #expect(record.endRevision > first)
        #expect(record.session.segments.last?.end == Self.start + 60)
        let partly = machine.receiveMetricsReport(
            report(key(), items: 10, revision: 1), for: key(), now: Moment(Self.start + 62))
        #expect(partly == [.save(key())])
    }

    @Test mutating func `revisions of state and current rise even if the clock steps backwards`() throws {
        try perform(running, at: 0, key())
        let first = try #require(machine.entries[key()]?.record.revision)
        let lap = machine.applyCommand(
            command(.lap, at: 10), for: key(), now: Moment(Self.start + 10).stepped(by: -3_600))
        #expect(replies(lap).map { $0.revision ?? 0 } == [first + 1])
        #expect(machine.currentRevision(user) == first + 1)
    }

    @Test mutating func `a countdown ends on time, and the session is active from then`() throws {
        let start = SessionAction.start(SessionStart(activity: .running))
        try perform(start, at: 0, key())
        #expect(machine.entries[key()]?.record.session.statusName == .preparing)
        #expect(machine.advance(to: Moment(Self.start + 2.9)) == [])
        #expect(machine.advance(to: Moment(Self.start + 3.05)).contains(.publishState(key())))
        #expect(machine.entries[key()]?.record.session.segments == [Segment(start: Self.start + 3, end: nil)])
    }

    @Test mutating func `times before 2000 or more than a day ahead are refused`() throws {
        for seconds in [-1_000_000_000, 86_401.0] {
            let reply = machine.applyCommand(command(running, at: seconds), for: key(), now: Moment(Self.start))
            #expect(replies(reply).map(\.error?.code) == ["invalid_command"])
        }
        #expect(machine.entries.isEmpty)
    }
}
