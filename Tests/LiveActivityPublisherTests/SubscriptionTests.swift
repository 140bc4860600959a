import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

@Suite(.timeLimit(.minutes(5))) struct SubscriptionTests {
    @Test func `the partners of a run are subscribed to while a device shows them`() async throws {
        let store = MemoryDatabase().replica()
        let clock = RunningPublisher.clock()
        let run = RunID(UUID())
        var session = ServiceSession(run: run, at: clock.now)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "live-activity-publisher"), logger: .silent,
            bus: RecordingBus(), clock: clock)
        var loop = LiveActivityPublisherLoop(context: context, canPush: true, store: store)
        _ = try await loop.handle(.ownership(store.gain([session.key.session.shard])))
        func isChanged(by message: MQTTMessage) async throws -> Bool {
            _ = try await loop.handle(.batch(MQTTBatch(messages: [message]) {}))
            _ = try await loop.handle(.tick)
            return loop.takeSubscriptionChange()
        }
        #expect(try await !isChanged(by: session.message))
        #expect(loop.subscriptions.isEmpty)
        #expect(try await isChanged(by: session.register(.activity)))
        #expect(loop.subscriptions == [TopicFilter.topic(.user(session.key.user, .partners(run)))])
        #expect(try await !isChanged(by: session.metrics(distance: 100, now: clock.now)))
        #expect(try await isChanged(by: session.become(.completed, now: clock.now)))
        #expect(loop.subscriptions.isEmpty)
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
