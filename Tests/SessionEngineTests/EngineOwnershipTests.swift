import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// A replica works only for the users of its shards.
struct EngineOwnershipTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let key = SessionKey(User("demo")!, SessionID(UUID()))

    init() throws {
        folder = try TemporaryFolder()
    }

    private func command(_ action: SessionAction) -> MQTTMessage {
        let command = Command(id: CommandID(UUID()), client: Client("c")!, at: clock.now, action: action)
        return Topic.session(key, .command).message(JSONCoding.encode(command))
    }

    private var start: MQTTMessage { command(.start(SessionStart(activity: .running, countdown: 0))) }

    private var request: MQTTMessage {
        let request = UserRequest(id: CommandID(UUID()), client: Client("c")!, action: .setProfile(Profile()))
        return Topic.user(key.user, .request).message(JSONCoding.encode(request))
    }

    @Test func `commands and requests of users in other shards are ignored, whatever the session's shard`() async throws
    {
        let others = Set(Shard.all).subtracting([key.user.shard])
        var engine = try await Engine(folder, clock: clock, shards: others)
        #expect(try await engine.deliver([start, request]).isEmpty)
        #expect(engine.session(key) == nil && engine.profile(key.user) == nil)
        var owner = try await Engine(try TemporaryFolder(), clock: clock, shards: [key.user.shard])
        #expect(try await owner.deliver([start, request]).replies.map(\.ok) == [true, true])
    }

    @Test func `sessions of lost shards are evicted`() async throws {
        var engine = try await Engine(folder, clock: clock)
        _ = try await engine.deliver([start])
        try await engine.own(.lost([key.user.shard]))
        #expect(engine.session(key) == nil)
        #expect(try await engine.deliver([command(.pause), request]).isEmpty)
        clock.advance(by: .seconds(7 * 3_600))
        #expect(try await engine.tick().isEmpty)
    }

    @Test func `under an outdated epoch nothing is written, published or answered`() async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        _ = try await engine?.deliver([start])
        try await engine?.own(.gained([key.user.shard: Epoch(99)]))
        #expect(try await engine?.deliver([command(.pause), request]).isEmpty == true)
        #expect(engine?.session(key) == nil)
        engine = nil
        let next = try await Engine(folder, clock: clock)
        #expect(next.session(key)?.statusName == .active)
    }

    @Test func `a former owner does not exceed a newer revision`() async throws {
        var engine = try await Engine(folder, clock: clock)
        _ = try await engine.deliver([start])
        let ahead = clock.now.milliseconds + 1_000_000
        let seen = Topic.session(key, .state).message(Array("{\"revision\":\(ahead)}".utf8))
        try await engine.own(.gained([key.user.shard: Epoch(99)]))
        #expect(try await engine.deliver([seen]).isEmpty)
    }
}
