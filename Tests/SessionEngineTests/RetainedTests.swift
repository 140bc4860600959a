import Bus
import Foundation
import Testing
import Workouts

@testable import SessionEngine

/// What the broker forgets, keeps or brings back.
struct RetainedTests {
    private static let now = Timestamp(seconds: 1_700_000_000)
    private var machine = EngineMachine()
    private let key = SessionKey(User("demo")!, SessionID(UUID()))

    init() {
        _ = machine.receive(
            Command(
                id: CommandID(UUID()), client: Client("c")!, at: Self.now,
                action: .start(SessionStart(activity: .running, countdown: 0))), for: key, now: Self.now)
        _ = machine.messages(for: .publishState(key))
        _ = machine.messages(for: .publishCurrent(key.user))
    }

    private var revision: Int64 { machine.entries[key]?.record.revision ?? 0 }

    @Test mutating func `what was published since connecting is an echo`() {
        let first = revision
        _ = machine.receive(
            Command(id: CommandID(UUID()), client: Client("c")!, at: Self.now + 1, action: .pause), for: key,
            now: Self.now + 1)
        #expect(machine.seeState(first, of: key, now: Self.now + 1) == [])
        #expect(machine.seeState(revision, of: key, now: Self.now + 1) == [])
    }

    @Test mutating func `an older revision is answered with the newest`() {
        #expect(machine.seeState(revision - 1, of: key, now: Self.now) == [.publishState(key)])
        #expect(machine.seeCurrent(revision - 1, of: key.user, now: Self.now) == [.publishCurrent(key.user)])
    }

    @Test mutating func `a newer revision is gone beyond, and saved before it is published`() {
        let seen = revision + 1_000_000
        let actions = machine.seeState(seen, of: key, now: Self.now)
        #expect(actions == [.save(key), .publishState(key), .publishCurrent(key.user)])
        #expect(revision > seen)
        let current = revision + 1_000_000
        #expect(machine.seeCurrent(current, of: key.user, now: Self.now).first == .save(key))
        #expect(revision > current)
    }

    @Test mutating func `on a new connection everything is published again and nothing is an echo`() {
        #expect(machine.connected(now: Self.now) == [.publishState(key), .publishCurrent(key.user)])
        #expect(machine.seeState(revision - 1, of: key, now: Self.now) == [.publishState(key)])
    }

    @Test mutating func `a session the engine does not have is left alone`() {
        let other = SessionKey(key.user, SessionID(UUID()))
        #expect(machine.seeState(5, of: other, now: Self.now) == [])
        #expect(machine.seeWorkout(5, of: key, now: Self.now) == [])
    }
}
