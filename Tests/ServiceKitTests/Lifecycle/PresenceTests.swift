import Bus
import MQTT
import ServiceLifecycle
import TestSupport
import Testing
import Workouts

@testable import ServiceKit

@Suite struct PresenceTests {
    private struct Unexpected: Error {}

    private let clock = ManualClock()
    private let topic = "pacebus/v1/services/_session-engine/host-0123456789abcdef"
    private var configuration: ServiceConfiguration {
        var configuration = ServiceConfiguration(
            name: "session-engine", instance: .unique(prefix: "host", bits: 0x0123_4567_89ab_cdef))
        configuration.shards = ShardSelection("00-3f,80") ?? .all
        return configuration
    }

    private func text(_ message: MQTTMessage) -> String { String(decoding: message.payload, as: UTF8.self) }

    @Test func `each connect is announced before the service sees it`() async throws {
        let broker = InMemoryBroker()
        let client = broker.client()
        let presence = Presence(configuration: configuration, clock: clock, bus: client)
        try await AnnouncingBus(bus: client, presence: presence).withSubscriptions([]) { events in
            var events = events.makeAsyncIterator()
            guard case .connected = await events.next() else { throw Unexpected() }
            let online = #"{"at":1735689600,"service":"session-engine","shards":"00-3f,80","#
            let message = try #require(broker.retained(topic))
            #expect(text(message) == online + #""status":"online","version":"0.1.0"}"#)
            #expect(message.qos == .atLeastOnce)
            broker.kill()
            broker.start()
            guard case .disconnected = await events.next() else { throw Unexpected() }
            client.connect()
            guard case .connected = await events.next() else { throw Unexpected() }
            #expect(broker.retained(topic) == message)
        }
    }

    @Test func `batches pass through unchanged`() async throws {
        let broker = InMemoryBroker()
        let client = broker.client()
        let presence = Presence(configuration: configuration, clock: clock, bus: client)
        let filter = MQTTSubscription(filter: "a/+", qos: .atLeastOnce)
        let received = try await AnnouncingBus(bus: client, presence: presence).withSubscriptions([filter]) { events in
            try await broker.client().send(
                (0..<3).map { MQTTMessage(topic: "a/\($0)", payload: [1], qos: .atLeastOnce) })
            var topics: [String] = []
            for await case .batch(let batch) in events {
                topics += batch.messages.map(\.topic)
                batch.acknowledge()
                if topics.count == 3 { client.stopReading() }
            }
            return topics
        }
        #expect(received == ["a/0", "a/1", "a/2"])
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
