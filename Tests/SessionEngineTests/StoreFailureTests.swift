import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// A disk that refuses writes, and records that are corrupt.
struct StoreFailureTests {
    private static let start = 1_700_000_000.0

    @Test func `while writes fail the session continues in memory, and the reply waits`() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock(now: Timestamp(seconds: Self.start))
        var engine = try await Engine(folder, clock: clock)
        let key = SessionKey(User("demo")!, SessionID(UUID()))
        func message(_ action: SessionAction) -> MQTTMessage {
            let command = Command(id: CommandID(UUID()), client: Client("c")!, at: clock.now, action: action)
            return Topic.session(key, .command).message(JSONCoding.encode(command))
        }
        let start = message(.start(SessionStart(activity: .running, countdown: 0)))
        #expect(try await engine.deliver([start]).replies.map(\.ok) == [true])

        engine.store.refuse(true)
        clock.advance(by: .seconds(10))
        let pause = message(.pause)
        let refused = try await engine.deliver([pause])
        #expect(refused.replies.isEmpty)
        #expect(refused.map(\.topic) == [Topic.session(key, .announcements).name])
        #expect(engine.session(key)?.statusName == .paused)

        engine.store.refuse(false)
        clock.advance(by: .seconds(2))
        let states = try await engine.tick()
        #expect(states.contains { $0.topic == Topic.session(key, .state).name })
        #expect(try await engine.deliver([pause]).replies.map(\.ok) == [true])
    }

    @Test func `a disk outage and its end are each logged once`() async throws {
        let log = LogRecorder()
        let clock = ManualClock(now: Timestamp(seconds: Self.start))
        var engine = try await Engine(try TemporaryFolder(), clock: clock, logger: log.logger)
        let outage = [
            "error commit failed, retrying error=the store cannot be written: disk full",
            "notice commits succeed again",
        ]
        for times in 1...2 {
            engine.store.refuse(true)
            let start = Command(
                id: CommandID(UUID()), client: Client("c")!, at: clock.now,
                action: .start(SessionStart(activity: .running, countdown: 0)))
            let key = SessionKey(User("demo\(times)")!, SessionID(UUID()))
            _ = try await engine.deliver([Topic.session(key, .command).message(JSONCoding.encode(start))])
            for _ in 0..<5 {
                clock.advance(by: .seconds(2))
                _ = try await engine.tick()
            }
            engine.store.refuse(false)
            for _ in 0..<3 {
                clock.advance(by: .seconds(2))
                _ = try await engine.tick()
            }
            let logged = log.lines.filter { $0.hasPrefix("error") || $0.hasPrefix("notice") }
            #expect(logged == Array(repeating: outage, count: times).flatMap(\.self))
        }
    }

    @Test func `a corrupt record is set aside, and the others are loaded`() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock(now: Timestamp(seconds: Self.start))
        let users = ["anna", "ben"].map { SessionKey(User($0)!, SessionID(UUID())) }
        var engine: Engine? = try await Engine(folder, clock: clock)
        for key in users {
            let start = Command(
                id: CommandID(UUID()), client: Client("c")!, at: clock.now,
                action: .start(SessionStart(activity: .running, countdown: 0)))
            _ = try await engine?.deliver([Topic.session(key, .command).message(JSONCoding.encode(start))])
        }
        engine = nil
        try await ChildProcess.run(
            [
                "sqlite3", "-cmd", ".timeout 20000", folder.file("engine.sqlite"),
                "UPDATE collection_sessions SET value = x'7b7d' WHERE key LIKE 'anna/%'",
            ], log: folder.file("sqlite3.log"))
        let again = try await Engine(folder, clock: clock)
        #expect(again.session(users[0]) == nil)
        #expect(again.session(users[1])?.statusName == .active)
    }

    @Test func `corrupt records of any kind are set aside once`() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock(now: Timestamp(seconds: Self.start))
        let user = User("anna")!
        let key = SessionKey(user, SessionID(UUID()))
        var engine: Engine? = try await Engine(folder, clock: clock)
        let request = UserRequest(id: CommandID(UUID()), client: Client("c")!, action: .setProfile(Profile()))
        let commands = [.start(SessionStart(activity: .running, countdown: 0)), .end(streams: [:])].map {
            Topic.session(key, .command).message(
                JSONCoding.encode(Command(id: CommandID(UUID()), client: Client("c")!, at: clock.now, action: $0)))
        }
        _ = try await engine?.deliver([Topic.user(user, .request).message(JSONCoding.encode(request))] + commands)
        clock.advance(by: .seconds(11))
        _ = try await engine?.tick()
        clock.advance(by: .seconds(49 * 3_600))
        _ = try await engine?.tick()
        engine = nil
        try await ChildProcess.run(
            [
                "sqlite3", "-cmd", ".timeout 20000", folder.file("engine.sqlite"),
                "UPDATE collection_users SET value = x'7b'; UPDATE collection_history SET value = x'00ff';",
            ], log: folder.file("sqlite3.log"))
        for _ in 0..<2 {
            engine = nil
            engine = try await Engine(folder, clock: clock)
            #expect(engine?.profile(user) == nil)
            let request = UserRequest(
                id: CommandID(UUID()), client: Client("c")!, action: .deleteWorkout(key.session))
            let sent = try await engine?.deliver([Topic.user(user, .request).message(JSONCoding.encode(request))])
            #expect(sent?.replies.map(\.error?.code) == ["session_not_found"])
            let echo = Topic.session(key, .state).message(Array(#"{"revision":1700000000001}"#.utf8))
            #expect(try await engine?.deliver([echo]).payloads(.session(key, .state)) == [[]])
            // The record is moved with the next commit.
            _ = try await engine?.tick()
        }
        engine = nil
        try await ChildProcess.run(
            ["sqlite3", "-cmd", ".timeout 20000", folder.file("engine.sqlite"), "SELECT key FROM collection_corrupt"],
            log: folder.file("keys"))
        let keys = try String(contentsOfFile: folder.file("keys"), encoding: .utf8).split(separator: "\n")
        #expect(keys == ["history/\(key)", "users/anna"])
    }
}
