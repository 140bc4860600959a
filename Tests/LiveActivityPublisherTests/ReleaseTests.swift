import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// A shard is released after the pushes under way, so that its next owner does not repeat a start.
@Suite(.timeLimit(.minutes(60))) struct ReleaseTests {
    private let database = MemoryDatabase()
    private let clock = RunningPublisher.clock()
    private let session: ServiceSession
    private var shards: Set<Shard> { [session.key.session.shard] }

    init() {
        session = ServiceSession(session: SessionID("0b7ac6a5-64bd-4e2d-8f12-0d3f5a1c9e7f")!, at: clock.now)
    }

    private func loop(_ store: MemoryStore) -> LiveActivityPublisherLoop {
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "live-activity-publisher"), logger: .silent,
            bus: RecordingBus(), clock: clock)
        return LiveActivityPublisherLoop(context: context, canPush: true, store: store)
    }

    /// Begins the session and its start.
    private func begin(_ loop: inout LiveActivityPublisherLoop, _ store: MemoryStore) async throws -> [Push] {
        _ = try await loop.handle(.ownership(store.gain(shards)))
        let messages = [session.message, session.register(.start, 1)]
        return try await loop.handle(.batch(MQTTBatch(messages: messages) {}))
    }

    @Test(arguments: [true, false])
    func `the next owner repeats a start unless its outcome comes with the release`(isInTime: Bool) async throws {
        let stores = [database.replica(), database.replica()]
        var (former, next) = (loop(stores[0]), loop(stores[1]))
        let pushes = try await begin(&former, stores[0])
        #expect(former.pushes(in: shards) == Set(pushes.map(\.id)) && pushes.count == 1)
        let outcomes = pushes.map { EndedPush(push: $0, outcome: .delivered, took: .zero) }
        _ = try await former.handle(.ownership(stores[0].release(shards)), outcomes: isInTime ? outcomes : [])
        await stores[0].released(shards)
        #expect(try await former.handle(.tick, outcomes: isInTime ? [] : outcomes).isEmpty)
        #expect(former.pushes(in: shards).isEmpty)

        _ = try await next.handle(.ownership(stores[1].gain(shards)))
        _ = try await next.handle(.batch(MQTTBatch(messages: [session.message]) {}))
        clock.advance(by: .seconds(31))
        #expect(try await next.handle(.tick).map(\.id) == (isInTime ? [] : pushes.map(\.id)))
    }

    @Test(arguments: [true, false])
    func `a release waits for the pushes of its shards, at most two seconds`(isInTime: Bool) async throws {
        let store = database.replica()
        var loop = loop(store)
        let push = try #require(try await begin(&loop, store).first)
        let other = Push(
            owner: push.owner, device: push.device, token: push.token, environment: push.environment, id: UUID(),
            priority: 5, expiration: nil, payload: [])
        let outcomes = Inbox<EndedPush>()
        async let waiting: Void = outcomes.wait(for: [push.id, other.id], clock: clock)
        try await clock.waitForSleepers()
        outcomes.add(EndedPush(push: push, outcome: .delivered, took: .zero))
        clock.advance(by: .milliseconds(1_999))
        #expect(clock.sleeperCount == 1)
        if isInTime {
            outcomes.add(EndedPush(push: other, outcome: .delivered, took: .zero))
        } else {
            clock.advance(by: .milliseconds(1))
        }
        await waiting
        #expect(outcomes.take().map(\.push.id) == [push.id] + (isInTime ? [other.id] : []))
        // Without pushes under way it returns at once.
        await outcomes.wait(for: [], clock: clock)
    }

    @Test(.disabled(if: APNsServer.isMissing, "PYTHON names no interpreter with h2, PyJWT and cryptography"))
    func `a push that hangs delays the release by two seconds`() async throws {
        let server = try await APNsServer(#"{"kind":"hang"}"#)
        let apns = APNsConfiguration(account: try APNsWorld.account(server), url: server.url, caFile: server.caFile)
        let store = database.replica()
        // Shard 00 is that of the probe messages.
        store.gain(shards.union([Shard(0)]))
        try await RunningPublisher.run(
            "live-activity-publisher", in: try TemporaryFolder(),
            storing: ("activities.sqlite", ActivityRecord.schema), clearing: .activity, clock: clock, ending: .kill,
            build: { context, _ in
                try LiveActivityPublisher.build(context, apns, store: store, limits: APNsWorld.longTimeouts)
            },
            { publisher in
                try await publisher.send(session.message, session.register(.start, 1))
                try await publisher.expectEventually { try server.requests.count == 1 }
                store.release(shards)
                // One sleeper for the ticks, one for the release.
                try await clock.waitForSleepers(2)
                #expect(store.owned == shards.union([Shard(0)]))
                clock.advance(by: .seconds(2))
                #expect(await eventually { store.owned == [Shard(0)] })
            })
    }
}

/// Registrations that the loop cannot read.
struct UnreadableRegistrationTests {
    @Test func `an unreadable registration gets a reply if its sender can be read, and its token appears nowhere`()
        async throws
    {
        let store = MemoryDatabase().replica()
        let bus = RecordingBus()
        let clock = RunningPublisher.clock()
        let session = ServiceSession(at: clock.now)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "live-activity-publisher"), logger: .silent, bus: bus,
            clock: clock)
        var loop = LiveActivityPublisherLoop(context: context, canPush: true, store: store)
        _ = try await loop.handle(.ownership(store.gain([session.key.session.shard])))
        let id = CommandID(UUID())
        let token = String(repeating: "ab", count: 32)
        let registration = Topic.session(session.key, .activityRegister).message(
            Array(#"{"id":"\#(id)","client":"app","device":"phone-1","enabled":true,"token":"\#(token)x"}"#.utf8))
        _ = try await loop.handle(.batch(MQTTBatch(messages: [registration]) {}))
        let sent = bus.take()
        let reply = try #require(sent.payloads(.user(session.key.user, .replies(Client("app")!))).first)
        let answer = try JSONCoding.decode(Reply.self, from: reply)
        #expect(answer.id == id && answer.error?.code == "invalid_command")
        #expect(sent.payloads(.user(session.key.user, .rejected)).count == 1)
        #expect(!sent.contains { String(decoding: $0.payload, as: UTF8.self).contains(token) })
    }
}
