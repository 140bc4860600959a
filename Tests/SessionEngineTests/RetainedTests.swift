import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Retained messages that the broker loses, keeps or delivers again.
struct RetainedTests {
    private static let now = Timestamp(seconds: 1_700_000_000)
    private var machine = SessionEngineMachine()
    private let key = SessionKey(User("demo")!, SessionID(UUID()))

    init() {
        _ = machine.applyCommand(
            Command(
                id: CommandID(UUID()), client: Client("c")!, at: Self.now,
                action: .start(SessionStart(activity: .running, countdown: 0))), for: key, now: Moment(Self.now))
        _ = machine.messages(for: .publishState(key))
        _ = machine.messages(for: .publishCurrent(key.user))
    }

    private var revision: Int64 { machine.entries[key]?.record.revision ?? 0 }

    @Test mutating func `a revision published since connecting is an echo`() {
        let first = revision
        _ = machine.applyCommand(
            Command(id: CommandID(UUID()), client: Client("c")!, at: Self.now + 1, action: .pause), for: key,
            now: Moment(Self.now + 1))
        #expect(machine.seeState(first, of: key, now: Moment(Self.now + 1)) == [])
        #expect(machine.seeState(revision, of: key, now: Moment(Self.now + 1)) == [])
    }

    @Test mutating func `an older revision is answered with the newest`() {
        #expect(machine.seeState(revision - 1, of: key, now: Moment(Self.now)) == [.publishState(key)])
        #expect(machine.seeCurrent(revision - 1, of: key.user, now: Moment(Self.now)) == [.publishCurrent(key.user)])
    }

    @Test mutating func `a foreign revision between published ones is answered`() {
        let first = revision
        _ = machine.applyCommand(
            Command(id: CommandID(UUID()), client: Client("c")!, at: Self.now + 9, action: .pause), for: key,
            now: Moment(Self.now + 9))
        _ = machine.messages(for: .publishState(key))
        _ = machine.messages(for: .publishCurrent(key.user))
        #expect(revision > first + 1)
        #expect(machine.seeState(first + 1, of: key, now: Moment(Self.now + 10)) == [.publishState(key)])
        #expect(machine.seeCurrent(first + 1, of: key.user, now: Moment(Self.now + 10)) == [.publishCurrent(key.user)])
    }

    @Test mutating func `workout and profile follow the same revision rules`() throws {
        _ = machine.applyCommand(
            Command(id: CommandID(UUID()), client: Client("c")!, at: Self.now + 9, action: .end(streams: [:])),
            for: key, now: Moment(Self.now + 9))
        for seconds in [20.0, 40] {
            _ = machine.finish(key, Moment(Self.now + seconds))
            _ = machine.messages(for: .publishWorkout(key))
            let request = UserRequest(id: CommandID(UUID()), client: Client("c")!, action: .setProfile(Profile()))
            _ = machine.answerRequest(request, of: key.user, now: Moment(Self.now + seconds))
            _ = machine.messages(for: .publishProfile(key.user))
        }
        let first = (Self.now + 20).milliseconds
        let newest = (Self.now + 40).milliseconds
        for (seen, isAnswered) in [(first - 1, true), (first, false), (first + 1, true), (newest, false)] {
            let workout = machine.seeWorkout(seen, of: key, now: Moment(Self.now + 41))
            #expect(workout == (isAnswered ? [.publishWorkout(key)] : []))
            let profile = machine.seeProfile(seen, of: key.user, now: Moment(Self.now + 41))
            #expect(profile == (isAnswered ? [.publishProfile(key.user)] : []))
        }
        #expect(
            machine.seeWorkout(newest + 5, of: key, now: Moment(Self.now + 41)) == [.save(key), .publishWorkout(key)])
        #expect(machine.entries[key]?.record.workout?.revision == newest + 1_000)
        #expect(
            machine.seeProfile(newest + 5_000, of: key.user, now: Moment(Self.now + 41)) == [
                .saveUser(key.user), .publishProfile(key.user),
            ])
        #expect(machine.users[key.user]?.profileTopic.revision == newest + 5_001)
    }

    @Test mutating func `a session's profile follows the state that names it`() throws {
        let key = SessionKey(User("anna")!, SessionID(UUID()))
        _ = machine.answerRequest(
            UserRequest(id: CommandID(UUID()), client: Client("c")!, action: .setProfile(Profile())), of: key.user,
            now: Moment(Self.now))
        let actions = machine.applyCommand(
            Command(
                id: CommandID(UUID()), client: Client("c")!, at: Self.now,
                action: .start(SessionStart(activity: .running, countdown: 0))), for: key, now: Moment(Self.now))
        let publishing: [SessionEngineAction] = [.publishState(key), .publishSessionProfile(key)]
        #expect(actions.filter(publishing.contains) == publishing)
        let announced = machine.announce([key.user.shard], now: Moment(Self.now))
        #expect(announced.filter(publishing.contains) == publishing)
        let first = try #require(machine.entries[key]?.record.profileRevision)
        #expect(machine.entries[key]?.record.state.profileRevision == first)
        _ = machine.messages(for: .publishSessionProfile(key))
        #expect(machine.seeSessionProfile(first, of: key, now: Moment(Self.now)) == [])
        #expect(
            machine.seeSessionProfile(first - 1, of: key, now: Moment(Self.now)) == [.publishSessionProfile(key)])
        #expect(
            machine.seeSessionProfile(first + 5, of: key, now: Moment(Self.now)) == [
                .save(key), .publishSessionProfile(key), .publishState(key), .publishCurrent(key.user),
            ])
        #expect(machine.entries[key]?.record.state.profileRevision == first + 6)
        // A session without a profile publishes none.
        #expect(
            machine.seeSessionProfile(first, of: self.key, now: Moment(Self.now)) == [.publishSessionProfile(self.key)])
        #expect(machine.messages(for: .publishSessionProfile(self.key)).map(\.payload.isEmpty) == [true])
    }

    @Test mutating func `a cleared topic is cleared again`() {
        // The session has no record yet.
        #expect(machine.seeWorkout(revision, of: key, now: Moment(Self.now)) == [.publishWorkout(key)])
        #expect(machine.messages(for: .publishWorkout(key)).map(\.payload.isEmpty) == [true])
        // A deleted session after the ninety days of its retention.
        let other = SessionKey(key.user, SessionID(UUID()))
        let old = (Self.now - 91 * 86_400).milliseconds
        #expect(machine.seeState(old, of: other, now: Moment(Self.now)) == [.clear(other)])
        #expect(machine.seeWorkout(old, of: other, now: Moment(Self.now)) == [.clear(other)])
        #expect(machine.messages(for: .clear(other)).map(\.payload.isEmpty) == [true, true, true])
    }

    @Test mutating func `live sessions are published first, then finished ones, then users`() {
        let over = SessionKey(User("anna")!, SessionID(UUID()))
        for action in [.start(SessionStart(activity: .running, countdown: 0)), .end(streams: [:])] as [SessionAction] {
            let command = Command(id: CommandID(UUID()), client: Client("c")!, at: Self.now, action: action)
            _ = machine.applyCommand(command, for: over, now: Moment(Self.now))
        }
        _ = machine.finish(over, Moment(Self.now))
        #expect(
            machine.connected(now: Moment(Self.now)) == [
                .publishState(key), .publishState(over), .publishWorkout(over), .publishCurrent(over.user),
                .publishCurrent(key.user),
            ])
    }

    @Test mutating func `a newer revision is exceeded, and stored before it is published`() {
        let seen = revision + 1_000_000
        let actions = machine.seeState(seen, of: key, now: Moment(Self.now))
        #expect(actions == [.save(key), .publishState(key), .publishCurrent(key.user)])
        #expect(revision > seen)
        let current = revision + 1_000_000
        #expect(
            machine.seeCurrent(current, of: key.user, now: Moment(Self.now)) == [
                .saveUser(key.user), .publishCurrent(key.user),
            ])
        #expect(machine.currentRevision(key.user) > current)
    }

    @Test mutating func `a new connection publishes everything again, and nothing is an echo`() {
        #expect(machine.connected(now: Moment(Self.now)) == [.publishState(key), .publishCurrent(key.user)])
        #expect(machine.seeState(revision - 1, of: key, now: Moment(Self.now)) == [.publishState(key)])
    }

    @Test mutating func `a session unknown to the engine is left unchanged`() {
        let other = SessionKey(key.user, SessionID(UUID()))
        let revision = Self.now.milliseconds
        #expect(machine.seeState(revision, of: other, now: Moment(Self.now)) == [])
        #expect(machine.seeWorkout(revision, of: other, now: Moment(Self.now)) == [])
    }

    @Test func `a stored user keeps its shape`() throws {
        let stored = """
            {"current":7,"plans":{"plans":[],"revision":6},"profile":{"units":"metric"},"replies":[],"revision":5}
            """
        let record = try JSONCoding.decode(UserRecord.self, from: stored.utf8)
        #expect(record.currentTopic?.revision == 7)
        #expect(record.profileTopic.revision == 5)
        #expect(String(decoding: JSONCoding.encode(record), as: UTF8.self) == stored)
        #expect(try JSONCoding.decode(UserRecord.self, from: JSONCoding.encode(UserRecord())).currentTopic == nil)
    }
}
