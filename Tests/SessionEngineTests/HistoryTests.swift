import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Pages of the history, and sessions loaded from it.
struct HistoryTests {
    private static let start = Timestamp(seconds: 1_700_000_000)
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: start)
    private let user = User("demo")!

    init() throws {
        folder = try TemporaryFolder()
    }

    private func request(_ action: UserRequest.Action, id: CommandID = CommandID(UUID())) -> MQTTMessage {
        Topic.user(user, .request).message(
            JSONCoding.encode(UserRequest(id: id, client: Client("phone-1")!, action: action)))
    }

    /// Records finished workouts with these starts, like a device without a connection.
    private func work(_ engine: inout Engine, at starts: [Double]) async throws -> [SessionKey] {
        var keys: [SessionKey] = []
        for seconds in starts {
            let key = SessionKey(user, SessionID(UUID()))
            var start = SessionStart(activity: .running, countdown: 0)
            start.endAt = Self.start + seconds + 60
            for (action, offset) in [(.start(start), 0), (.end(streams: [:]), 60)] as [(SessionAction, Double)] {
                let command = Command(
                    id: CommandID(UUID()), client: Client("c")!, at: Self.start + seconds + offset, action: action)
                let sent = try await engine.deliver([Topic.session(key, .command).message(JSONCoding.encode(command))])
                #expect(sent.replies.map(\.ok) == [true])
            }
            keys.append(key)
        }
        clock.advance(by: .seconds(11))
        _ = try await engine.tick()
        return keys
    }

    /// Two days later finished sessions are not in memory.
    private func archive(_ engine: inout Engine) async throws {
        clock.advance(by: .seconds(49 * 3_600))
        _ = try await engine.tick()
    }

    @Test(arguments: 1...4) func `every workout appears once, even with equal starts`(limit: Int) async throws {
        var engine = try await Engine(folder, clock: clock)
        var keys = try await work(&engine, at: [-900, -900, -900])
        try await archive(&engine)
        keys += try await work(&engine, at: [-900, -900, -100, -1_000])
        var found: [SessionID] = []
        var place: HistoryPlace?
        repeat {
            let sent = try await engine.deliver([request(.workouts(HistoryQuery(before: place, limit: limit)))])
            let page = try #require(sent.replies.first)
            found += page.workouts?.map(\.session) ?? []
            place = page.next?.place
        } while place != nil && found.count < 20
        #expect(found.count == keys.count)
        #expect(Set(found) == Set(keys.map(\.session)))
        #expect(found.first == keys[5].session && found.last == keys[6].session)
    }

    @Test func `a history line decodes from its own fields`() async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        let keys = try await work(&engine!, at: [-900])
        try await archive(&engine!)
        engine = nil
        // Invalid fields that a history line does not read.
        try await ChildProcess.run(
            [
                "sqlite3", "-cmd", ".timeout 20000", folder.file("engine.sqlite"),
                "UPDATE collection_history SET value = "
                    + "CAST(json_set(CAST(value AS TEXT), '$.route', 7, '$.workout.polyline', 7) AS BLOB)",
            ], log: folder.file("sqlite3.log"))
        engine = try await Engine(folder, clock: clock)
        let page = try await engine?.deliver([request(.workouts(HistoryQuery(before: nil, limit: 5)))]).replies.first
        #expect(page?.workouts?.map(\.session) == keys.map(\.session))
        #expect(try await engine?.store.records(in: SessionRecord.corrupt, shards: [user.shard]).isEmpty == true)
    }

    @Test func `a history line excludes pauses and matches the record`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = SessionKey(user, SessionID(UUID()))
        let start = SessionStart(activity: .hiking, name: "Up", countdown: 0)
        for (action, seconds) in [
            (.start(start), 0), (.pause, 20), (.resume, 50), (.suspend, 60), (.end(streams: [:]), 100),
        ] as [(SessionAction, Double)] {
            let command = Command(
                id: CommandID(UUID()), client: Client("c")!, at: Self.start + seconds, action: action)
            _ = try await engine.deliver([Topic.session(key, .command).message(JSONCoding.encode(command))])
        }
        clock.advance(by: .seconds(11))
        _ = try await engine.tick()
        let page = try await engine.deliver([request(.workouts(HistoryQuery(before: nil, limit: 2)))]).replies.first
        let line = try #require(page?.workouts?.first)
        #expect(line.activeDuration == 30)
        #expect(line.name == "Up" && line.activity == .hiking && line.session == key.session)
        #expect(line.startedAt == Self.start && line.endedAt == Self.start + 100)
        #expect(engine.record(key)?.workout?.elapsedDuration == 100)
    }

    @Test func `a page can begin after a deleted workout`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let keys = try await work(&engine, at: [-900, -500, -100])
        let sent = try await engine.deliver([request(.workouts(HistoryQuery(before: nil, limit: 2)))])
        let place = try #require(sent.replies.first?.next?.place)
        _ = try await engine.deliver([request(.deleteWorkout(place.session))])
        let rest = try await engine.deliver([request(.workouts(HistoryQuery(before: place, limit: 2)))])
        #expect(rest.replies.first?.workouts?.map(\.session) == [keys[0].session])
    }

    @Test func `a session that never became active is listed at its end`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = SessionKey(user, SessionID(UUID()))
        for action in [.start(SessionStart(activity: .running, countdown: 60)), .discard, .recover] as [SessionAction] {
            let command = Command(id: CommandID(UUID()), client: Client("c")!, at: clock.now, action: action)
            _ = try await engine.deliver([Topic.session(key, .command).message(JSONCoding.encode(command))])
        }
        clock.advance(by: .seconds(11))
        _ = try await engine.tick()
        let page = try await engine.deliver([request(.workouts(HistoryQuery(before: nil, limit: 2)))]).replies.first
        #expect(page?.workouts?.map(\.session) == [key.session])
        #expect(page?.workouts?.first?.place.at == Self.start + 60)
    }

    @Test func `a page, a profile or an invalid request loads nothing from history`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let keys = try await work(&engine, at: [-900, -500])
        try await archive(&engine)
        let envelope = #""id":"7b0d4c1e-6a3f-4b55-9d0c-0f6f0a1b2c3d","client":"c""#
        let texts = [
            "{", "\u{0}", "{\(envelope)}", "{\(envelope),\"type\":\"deleteWorkout\"}",
            "{\(envelope),\"type\":\"deleteEverythin\"}",
        ]
        let junk = texts.map { Topic.user(user, .request).message(Array($0.utf8)) }
        _ = try await engine.deliver(
            junk + [request(.workouts(HistoryQuery(before: nil, limit: 5))), request(.setProfile(Profile()))])
        #expect(keys.allSatisfy { engine.session($0) == nil })
        _ = try await engine.deliver([request(.deleteWorkout(keys[1].session))])
        #expect(engine.session(keys[0]) == nil)
        #expect(engine.session(keys[1])?.statusName == .deleted)
    }

    @Test func `deleteEverything removes archived workouts too, once`() async throws {
        var engine = try await Engine(folder, clock: clock)
        var keys = try await work(&engine, at: [-900, -500])
        try await archive(&engine)
        keys += try await work(&engine, at: [100])
        var profile = Profile()
        profile.weight = 70
        _ = try await engine.deliver([request(.setProfile(profile))])
        let everything = request(.deleteEverything)
        let sent = try await engine.deliver([everything])
        let states = sent.filter { message in keys.contains { Topic.session($0, .state).name == message.topic } }
        #expect(states.count == 3)
        #expect(keys.allSatisfy { engine.session($0)?.statusName == .deleted })
        let published = try #require(sent.first { $0.topic == Topic.user(user, .profile).name })
        #expect(try JSONCoding.decode(UserProfile.self, from: published.payload).profile == Profile())
        let later = try await work(&engine, at: [200])
        try await archive(&engine)
        #expect(try await engine.deliver([everything]).replies.map(\.ok) == [true])
        let page = try await engine.deliver([request(.workouts(HistoryQuery(before: nil, limit: 5)))]).replies.first
        #expect(page?.workouts?.map(\.session) == later.map(\.session))
    }

    @Test func `deleteEverything leaves no recorded data in the store`() async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        var profile = Profile()
        profile.weight = 71.25
        _ = try await engine?.deliver([request(.setProfile(profile))])
        _ = try await work(&engine!, at: [-900, -500])
        try await archive(&engine!)
        let keys = try await work(&engine!, at: [100])
        engine = nil
        try await ChildProcess.run(
            [
                "sqlite3", "-cmd", ".timeout 20000", folder.file("engine.sqlite"),
                "UPDATE collection_history SET value = '\"71.25' WHERE key = (SELECT min(key) FROM collection_history)",
            ], log: folder.file("sqlite3.log"))
        engine = try await Engine(folder, clock: clock)
        _ = try await engine?.deliver([request(.workouts(HistoryQuery(before: nil, limit: 9)))])
        #expect(try await texts(engine).contains { $0.contains("71.25") })
        _ = try await engine?.deliver([request(.deleteEverything)])
        #expect(try await texts(engine).allSatisfy { !$0.contains("71.25") })
        #expect(try await engine?.store.records(in: SessionRecord.replies, shards: [user.shard]).isEmpty == true)
        #expect(try await engine?.store.records(in: SessionRecord.corrupt, shards: [user.shard]).isEmpty == true)
        // The session of an earlier command no longer exists.
        let end = Command(id: CommandID(UUID()), client: Client("c")!, at: clock.now, action: .end(streams: [:]))
        let sent = try await engine?.deliver([Topic.session(keys[0], .command).message(JSONCoding.encode(end))])
        #expect(sent?.replies.map(\.error?.code) == ["session_not_found"])
    }

    /// Every record of the store.
    private func texts(_ engine: Engine?) async throws -> [String] {
        let collections = [
            SessionRecord.sessions, SessionRecord.history, SessionRecord.replies, SessionRecord.users,
            SessionRecord.corrupt,
        ]
        var texts: [String] = []
        for collection in collections {
            let records = try await engine?.store.records(in: collection, shards: [user.shard]) ?? []
            texts += records.map { String(decoding: $0.value, as: UTF8.self) }
        }
        return texts
    }

    @Test func `retained messages of an archived session are cleared again`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = try await work(&engine, at: [-900])[0]
        let old = clock.now.milliseconds - 5
        try await archive(&engine)
        let seen = [SessionTopic.state, .workout].map {
            Topic.session(key, $0).message(Array("{\"revision\":\(old)}".utf8))
        }
        var sent = try await engine.deliver(seen)
        clock.advance(by: .seconds(2))
        sent += try await engine.tick()
        for topic in [SessionTopic.state, .workout] {
            let last = sent.last { $0.topic == Topic.session(key, topic).name }
            #expect(last?.payload.isEmpty == true)
        }
        #expect(engine.session(key) == nil)
    }
}
