import Bus
import MQTT
import ServiceLifecycle
import Storage
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import ServiceKit

@Suite struct PresenceTests {
    private struct Unexpected: Error {}

    private let clock = ManualClock()
    private let topic = "pacebus/v1/services/_session-engine/host-0123456789abcdef"
    private var configuration: ServiceConfiguration {
        ServiceConfiguration(
            name: "session-engine", instance: .unique(prefix: "host", bits: 0x0123_4567_89ab_cdef))
    }

    private func text(_ message: MQTTMessage) -> String { String(decoding: message.payload, as: UTF8.self) }

    /// Serves shards of a store while `body` runs.
    private func withServing(
        _ broker: InMemoryBroker, _ client: InMemoryBus, _ store: MemoryStore, _ body: () async throws -> Void,
        handle: @escaping @Sendable (ServiceEvent) async throws -> Void = { _ in }
    ) async throws {
        var context = ServiceContext(configuration: configuration, logger: .silent, bus: client, clock: clock)
        context.presence = Presence(configuration: configuration, clock: clock, bus: client)
        let service = Serving { [context] in
            let filter = MQTTSubscription(filter: "a/+", qos: .atLeastOnce)
            try await context.serve(store: store, subscriptions: { _ in [filter] }, handle)
        }
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: .silent))
        async let ended: Void = group.run()
        do {
            try await body()
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
        await group.triggerGracefulShutdown()
        try await ended
    }

    private struct Serving: Service {
        let body: @Sendable () async throws -> Void

        func run() async throws { try await body() }
    }

    private func expectEventually(_ condition: () -> Bool) async throws {
        guard await eventually({ condition() }) else { throw Unexpected() }
    }

    /// The `shards` of the retained presence.
    private func shards(_ broker: InMemoryBroker) -> String? {
        broker.retained(topic).flatMap { try? JSONCoding.decode(Presence.Payload.self, from: $0.payload) }?.shards
    }

    @Test func `each connect is announced before the service receives it`() async throws {
        let broker = InMemoryBroker()
        let client = broker.client()
        let seen = Mutex<[MQTTMessage?]>([])
        let store = MemoryDatabase().replica()
        store.gain(try #require(ShardSelection("00-3f,80")).shards)
        try await withServing(broker, client, store) {
            try await expectEventually { seen.withLock { $0.count == 1 } }
            broker.kill()
            broker.start()
            try await expectEventually { seen.withLock { $0.count == 2 } }
        } handle: { [topic] event in
            if case .connected = event { seen.withLock { $0.append(broker.retained(topic)) } }
        }
        let message = try #require(seen.withLock { $0[0] })
        let online = #"{"at":1735689600,"service":"session-engine","shards":"00-3f,80","#
        #expect(text(message) == online + #""status":"online","version":"\#(pacebusVersion)"}"#)
        #expect(message.qos == .atLeastOnce)
        #expect(seen.withLock { $0[1] } == message)
    }

    @Test func `presence names the owned shards after each gain and loss`() async throws {
        let broker = InMemoryBroker()
        let store = MemoryDatabase().replica()
        store.gain([])
        try await withServing(broker, broker.client(), store) {
            try await expectEventually { shards(broker) == "none" }
            store.gain([Shard(1), Shard(2), Shard(9)])
            try await expectEventually { shards(broker) == "01-02,09" }
            store.release([Shard(2)])
            try await expectEventually { shards(broker) == "01,09" }
            store.lose([Shard(1), Shard(9)])
            try await expectEventually { shards(broker) == "none" }
        }
    }

    @Test func `a process renews its presence every 20 s`() async throws {
        let broker = InMemoryBroker()
        let store = MemoryDatabase().replica()
        store.gain([Shard(0)])
        func at() -> Timestamp? {
            broker.retained(topic).flatMap { try? JSONCoding.decode(Presence.Payload.self, from: $0.payload) }?.at
        }
        try await withServing(broker, broker.client(), store) {
            try await expectEventually { at() == clock.now }
            for _ in 0..<10 {
                let before = clock.now
                try await clock.waitForSleepers()
                clock.advance(by: .seconds(19))
                try await clock.waitForSleepers()
                #expect(at() == before)
                clock.advance(by: .seconds(1))
                try await expectEventually { at() == clock.now }
            }
        }
    }

    @Test func `the owner of shard 00 clears an online presence that is not renewed for a minute`() async throws {
        let broker = InMemoryBroker()
        let (alive, store) = (broker.client(), MemoryDatabase().replica())
        let prefix = "pacebus/v1/services/_session-engine/"
        func publish(_ instance: String, at: Int) async throws {
            let payload = #"{"at":\#(at),"service":"session-engine","shards":"none","status":"online","version":"1"}"#
            try await alive.publish(
                MQTTMessage(topic: prefix + instance, payload: Array(payload.utf8), qos: .atLeastOnce, retain: true))
        }
        // A broker that restored an old save has it of a process that is gone.
        try await publish("gone", at: 1)
        try await publish("alive", at: 1)
        store.gain([Shard(0)])
        try await withServing(broker, broker.client(), store) {
            try await expectEventually { shards(broker) == "00" }
            var seconds = 0
            let isCleared = try await eventually {
                seconds += 14
                try await clock.waitForSleepers()
                clock.advance(by: .seconds(14))
                try await publish("alive", at: seconds)
                try await clock.waitForSleepers()
                return broker.retained(prefix + "gone") == nil
            }
            #expect(isCleared && seconds >= 60)
            #expect(broker.retained(prefix + "alive") != nil)
        }
    }

    @Test func `the owner of shard 00 clears presences that have been offline for an hour`() async throws {
        let broker = InMemoryBroker()
        let other = broker.client()
        let prefix = "pacebus/v1/services/_session-engine/"
        func presence(_ status: String) -> [UInt8] {
            Array(#"{"at":1,"service":"session-engine","shards":"none","status":"\#(status)","version":"1"}"#.utf8)
        }
        func publish(_ instance: String, _ status: String) async throws {
            try await other.publish(
                MQTTMessage(topic: prefix + instance, payload: presence(status), qos: .atLeastOnce, retain: true))
        }
        func pass(_ seconds: Int) async throws {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(seconds))
            try await clock.waitForSleepers()
        }
        for (instance, status) in [("gone", "offline"), ("back", "offline")] {
            try await publish(instance, status)
        }
        let store = MemoryDatabase().replica()
        store.gain([Shard(1)])
        let batches = Mutex<[String]>([])
        try await withServing(broker, broker.client(), store) {
            try await expectEventually { shards(broker) == "01" }
            // The owner of another shard clears nothing.
            try await pass(4_000)
            store.gain([Shard(0)])
            try await expectEventually { shards(broker) == "00-01" }
            try await other.publish(MQTTMessage(topic: "a/1", payload: [1], qos: .atLeastOnce))
            try await expectEventually { batches.withLock { !$0.isEmpty } }
            try await pass(3_000)
            try await publish("back", "online")
            try await publish("back", "offline")
            try await other.publish(MQTTMessage(topic: "a/2", payload: [1], qos: .atLeastOnce))
            try await expectEventually { batches.withLock { $0.count == 2 } }
            #expect(broker.retained(prefix + "gone") != nil)
            try await pass(700)
            try await expectEventually { broker.retained(prefix + "gone") == nil }
            #expect(broker.retained(prefix + "back") != nil)
        } handle: { event in
            guard case .batch(let batch) = event else { return }
            batches.withLock { $0 += batch.messages.map(\.topic) }
            batch.finish()
        }
        #expect(batches.withLock { $0 } == ["a/1", "a/2"])
    }

    @Test func `an orderly shutdown and a will publish offline on the same topic`() async throws {
        let broker = InMemoryBroker()
        let presence = Presence(configuration: configuration, clock: clock, bus: broker.client())
        let group = ServiceGroup(
            configuration: .init(services: [presence], logger: .silent))
        async let ended: Void = group.run()
        await group.triggerGracefulShutdown()
        try await ended
        let will = Presence.will(configuration, at: clock.now)
        #expect(broker.retained(topic) == will)
        #expect(will.retain)
        #expect(text(will).contains(#""status":"offline""#))
    }

    @Test(arguments: [
        ("Host.Example_1", "host-example-1-00000000000000ff"), ("--x", "x-00000000000000ff"),
        ("", "00000000000000ff"), ("日本", "00000000000000ff"),
        (String(repeating: "a", count: 200), String(repeating: "a", count: 47) + "-00000000000000ff"),
    ]) func `an instance name is valid for any host name`(host: String, name: String) {
        #expect(ProcessName.unique(prefix: host, bits: 0xff).description == name)
    }
}
