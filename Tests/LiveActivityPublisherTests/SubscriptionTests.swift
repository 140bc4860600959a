import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

@Suite(.timeLimit(.minutes(60))) struct SubscriptionTests {
    @Test func `metrics and partners are subscribed to while a device shows them`() async throws {
        let store = MemoryDatabase().replica()
        let clock = RunningPublisher.clock()
        let run = RunID(UUID())
        var session = ServiceSession(run: run, at: clock.now)
        let other = ServiceSession("ben", at: clock.now)
        let shards = Set([session, other].map(\.key.session.shard))
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "live-activity-publisher"), logger: .silent,
            bus: RecordingBus(), clock: clock)
        var loop = LiveActivityPublisherLoop(context: context, canPush: true, store: store)
        _ = try await loop.handle(.ownership(store.gain(shards)))
        func isChanged(by messages: MQTTMessage...) async throws -> Bool {
            _ = try await loop.handle(.batch(MQTTBatch(messages: messages) {}))
            _ = try await loop.handle(.tick)
            return loop.takeSubscriptionChange()
        }
        func filters(of shards: Set<Shard>) -> Set<MQTTSubscription> { Set(loop.machine.subscriptions(of: shards)) }
        #expect(try await !isChanged(by: session.message, other.message))
        #expect(filters(of: shards).isEmpty)
        #expect(try await isChanged(by: session.register(.activity)))
        let metrics = TopicFilter.topic(.session(session.key, .metrics))
        #expect(filters(of: shards) == [metrics, TopicFilter.topic(.user(session.key.user, .partners(run)))])
        #expect(filters(of: shards.subtracting([session.key.session.shard])).isEmpty)
        #expect(try await !isChanged(by: session.metrics(distance: 100, now: clock.now)))
        // The end shows the last metrics, and no partners.
        #expect(try await isChanged(by: session.become(.completed, now: clock.now)))
        #expect(filters(of: shards) == [metrics])
        _ = try await loop.handle(.ownership(store.lose(shards)))
        #expect(filters(of: shards).isEmpty)
    }

    @Test func `a device that withdraws shows no metrics`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        #expect(run.exchange().events == ["update"])
        #expect(run.machine.shown.hasMetrics(of: key))
        run.register(nil, of: key)
        #expect(run.machine.shown.hasMetrics(of: key), "the end shows the last metrics")
        run.pass(2)
        #expect(run.exchange().events == ["end"])
        #expect(!run.machine.shown.hasMetrics(of: key))
        run.snapshot(of: key, distance: 300)
        run.pass(2)
        run.register(.activity, 2, of: key)
        #expect(run.exchange().map(\.read.content.distance) == [300])
    }

    @Test func `a first push waits a second for metrics, unless the session is new`() {
        var run = ActivityMachineRun()
        let (old, new) = (ActivityMachineRun.key(1), ActivityMachineRun.key(2))
        run.state(.active, of: old)
        run.register(.activity, of: old)
        #expect(run.exchange().isEmpty)
        run.pass(LiveActivityPublisherMachine.snapshotTimeout)
        #expect(run.exchange().map(\.read.content.distance) == [nil])
        run.receive(
            Session(
                key: new, start: SessionStart(activity: .running, countdown: 0), at: run.now - 1, now: run.now))
        run.register(.activity, 2, of: new)
        #expect(run.exchange().map(\.read.content.distance) == [nil])
    }

    @Test func `without a key no metrics are subscribed to`() {
        var run = ActivityMachineRun(canPush: false)
        let key = run.begin()
        run.register(.activity, of: key)
        #expect(!run.machine.shown.hasMetrics(of: key))
    }

    @Test(.disabled(if: APNsServer.isMissing, "PYTHON has no h2, PyJWT and cryptography"))
    func `of many sessions only the metrics of those with a device are read, and a late one shows the newest`()
        async throws
    {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: try TemporaryFolder(), server) { publisher in
            let clock = publisher.clock
            var sessions = (1...50).map { ServiceSession("u\($0)", at: clock.now) }
            try await publisher.send(sessions.map(\.message))
            try await publisher.pass(3)
            let before = publisher.value("messages_total") ?? 0
            for index in sessions.indices {
                try await publisher.send(sessions[index].metrics(distance: Double(index), now: clock.now))
            }
            try await publisher.settle()
            #expect((publisher.value("messages_total") ?? 0) - before < sessions.count)
            try await publisher.send(sessions[7].register(.activity, 7), sessions[8].register(.activity, 8))
            try await publisher.pass(1)
            let shown = try server.requests.map { $0.payload?.aps.contentState.distance }
            #expect(Set(shown) == [7, 8])
        }
    }

    @Test(.disabled(if: APNsServer.isMissing, "PYTHON has no h2, PyJWT and cryptography"))
    func `a device that registers during a run shows the retained partners, then newer ones`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: try TemporaryFolder(), server) { publisher in
            let run = RunID(UUID())
            let session = ServiceSession(run: run, at: publisher.clock.now)
            func partners(_ name: String, _ revision: Int64) -> MQTTMessage {
                let row = Partners.Row(.participant(User(name)!), link: .connected)
                let partners = Partners(run: run, revision: revision, now: publisher.clock.now, rows: [row])
                return Topic.user(session.key.user, .partners(run)).message(partners.payload)
            }
            try await publisher.send(session.message, partners("ben", 1))
            try await publisher.send(session.register(.activity))
            try await publisher.pass(4)
            #expect(try server.requests.last?.payload?.aps.contentState.partner == "ben")
            try await publisher.send(partners("cleo", 2))
            try await publisher.pass(4)
            #expect(try server.requests.last?.payload?.aps.contentState.partner == "cleo")
        }
    }
}
