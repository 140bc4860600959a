import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Profiles, history and deletion, on a real store.
struct UserTests {
    private static let start = 1_700_000_000.0
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: start))
    private let user = User("demo")!

    init() throws {
        folder = try TemporaryFolder()
    }

    private func request(_ action: UserRequest.Action, id: CommandID = CommandID(UUID())) -> MQTTMessage {
        Topic.user(user, .request).message(
            JSONCoding.encode(UserRequest(id: id, client: Client("phone-1")!, action: action)))
    }

    /// A finished workout of one minute.
    private func work(_ engine: inout Engine, at seconds: Double) async throws -> SessionKey {
        let key = SessionKey(user, SessionID(UUID()))
        let at = Timestamp(seconds: Self.start + seconds)
        let actions: [(SessionAction, Double)] = [
            (.start(SessionStart(activity: .running, countdown: 0)), 0), (.end(streams: [:]), 60),
        ]
        for (action, offset) in actions {
            let command = Command(
                id: CommandID(UUID()), client: Client("phone-1")!, at: at + offset, action: action)
            _ = try await engine.deliver([Topic.session(key, .command).message(JSONCoding.encode(command))])
        }
        clock.advance(by: .seconds(11))
        _ = try await engine.tick()
        return key
    }

    @Test func `a profile is published and copied into later sessions`() async throws {
        var engine = try await Engine(folder, clock: clock)
        var profile = Profile()
        profile.weight = 70
        profile.units = .imperial
        let sent = try await engine.deliver([request(.setProfile(profile))])
        #expect(sent.replies.map(\.ok) == [true])
        let published = try #require(sent.first { $0.topic == Topic.user(user, .profile).name })
        #expect(try JSONCoding.decode(UserProfile.self, from: published.payload).profile == profile)
        let key = try await work(&engine, at: 0)
        #expect(engine.session(key)?.profile == profile)
        #expect(engine.session(key)?.units == .imperial)
    }

    @Test func `a profile out of range is refused with the field's name`() async throws {
        var engine = try await Engine(folder, clock: clock)
        var profile = Profile()
        profile.weight = 4
        let refused = try await engine.deliver([request(.setProfile(profile))]).replies
        #expect(refused.map(\.error?.message) == ["weight: 20 to 400 kg"])
        let broken = Topic.user(user, .request).message(
            Array(#"{"id":"7b0d4c1e-6a3f-4b55-9d0c-0f6f0a1b2c3d","client":"c","type":"setProfile","profile":7}"#.utf8))
        #expect(try await engine.deliver([broken]).replies.map(\.error?.code) == ["invalid_command"])
    }

    @Test func `a repeated older request does not undo a newer one`() async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        var old = Profile()
        old.weight = 70
        var new = Profile()
        new.weight = 75
        let first = request(.setProfile(old))
        _ = try await engine?.deliver([first])
        _ = try await engine?.deliver([request(.setProfile(new))])
        engine = nil
        var again = try await Engine(folder, clock: clock)
        let repeated = try await again.deliver([first])
        #expect(repeated.map(\.topic) == [Topic.user(user, .replies(Client("phone-1")!)).name])
        #expect(again.profile(user)?.weight == 75)
    }

    @Test func `history is paged, newest first, including workouts that left the bus`() async throws {
        var engine = try await Engine(folder, clock: clock)
        var keys: [SessionKey] = []
        for number in 0..<3 { keys.append(try await work(&engine, at: Double(number) * 1_000)) }
        clock.advance(by: .seconds(49 * 3_600))
        let cleared = try await engine.tick()
        #expect(cleared.filter { $0.payload.isEmpty }.count == 9)
        #expect(keys.allSatisfy { engine.session($0) == nil })
        keys.append(try await work(&engine, at: 49 * 3_600))

        let first = try #require(
            try await engine.deliver([request(.workouts(HistoryQuery(before: nil, limit: 3)))]).replies.first)
        #expect(first.workouts?.map(\.session) == [keys[3], keys[2], keys[1]].map(\.session))
        let rest = try #require(
            try await engine.deliver([request(.workouts(HistoryQuery(before: first.next?.place, limit: 3)))]).replies
                .first)
        #expect(rest.workouts?.map(\.session) == [keys[0].session])
        #expect(rest.next == nil)
    }

    @Test func `an archived session accepts a second device's end and is archived again`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = try await work(&engine, at: 0)
        clock.advance(by: .seconds(49 * 3_600))
        _ = try await engine.tick()
        #expect(engine.session(key) == nil)
        let end = Command(
            id: CommandID(UUID()), client: Client("strap")!, at: clock.now,
            action: .end(streams: [StreamName("samples/strap-1")!: 5]))
        let sent = try await engine.deliver([Topic.session(key, .command).message(JSONCoding.encode(end))])
        #expect(sent.replies.map(\.ok) == [true])
        #expect(engine.session(key)?.streams.count == 1)
        clock.advance(by: .seconds(49 * 3_600))
        _ = try await engine.tick()
        #expect(engine.session(key) == nil)
    }

    @Test func `deleted workouts are erased, and published as deleted`() async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        var profile = Profile()
        profile.weight = 70
        _ = try await engine?.deliver([request(.setProfile(profile))])
        let keys = [try await work(&engine!, at: 0), try await work(&engine!, at: 1_000)]
        #expect(engine?.session(keys[0])?.profile == profile)
        let sent = try await engine?.deliver([request(.deleteWorkout(keys[0].session))]) ?? []
        #expect(sent.replies.map(\.ok) == [true])
        let state = try #require(sent.first { $0.topic == Topic.session(keys[0], .state).name })
        let published = try JSONCoding.decode(SessionState.self, from: state.payload)
        #expect(published.status == .deleted)
        #expect(published.profileRevision == nil && published.segments.isEmpty)
        #expect(sent.contains { $0.topic == Topic.session(keys[0], .profile).name && $0.payload.isEmpty })
        #expect(sent.contains { $0.topic == Topic.session(keys[0], .workout).name && $0.payload.isEmpty })
        let unknown = try await engine?.deliver([request(.deleteWorkout(SessionID(UUID())))]).replies
        #expect(unknown?.map(\.error?.code) == ["session_not_found"])

        let erased = try await engine?.deliver([request(.deleteEverything)])
        let empty = try #require(erased?.last { $0.topic == Topic.user(user, .profile).name })
        let erasedAt = try JSONCoding.decode(UserProfile.self, from: empty.payload).erasedAt
        #expect(erasedAt == clock.now, "other services void their data by it")
        engine = nil
        var again = try await Engine(folder, clock: clock)
        #expect(keys.map { again.session($0)?.statusName } == [.deleted, .deleted])
        let history = try await again.deliver([request(.workouts(HistoryQuery(before: nil, limit: 10)))]).replies
        #expect(history.first?.workouts == [])
    }
}
