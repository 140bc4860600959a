import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// The aggregator's loop on a real store, its events handed to it one by one.
struct Aggregator {
    let bus = RecordingBus()
    let store: RefusingStore
    let clock: ManualClock
    private(set) var loop: StreamLoop<SampleWork>

    /// Starts on the store in a folder, as a process does.
    init(_ folder: TemporaryFolder, clock: ManualClock) async throws {
        self.clock = clock
        store = RefusingStore(
            try SQLiteStore(
                path: folder.file("aggregator.sqlite"), schema: StreamStore.schema(SampleWork.service), shards: Set(Shard.all)))
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "metrics-aggregator"),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, bus: bus, clock: clock)
        loop = StreamLoop<SampleWork>(context: context, store: store)
        for await change in store.ownership {
            try await loop.handle(.ownership(change))
            break
        }
        try await loop.handle(.connected)
    }

    /// Delivers messages in one batch and returns what was sent.
    @discardableResult
    mutating func deliver(_ messages: [MQTTMessage]) async throws -> [MQTTMessage] {
        try await loop.handle(.batch(MQTTBatch(messages: messages) {}))
        return bus.take()
    }

    @discardableResult
    mutating func tick() async throws -> [MQTTMessage] {
        try await loop.handle(.tick)
        return bus.take()
    }

    mutating func connect() async throws -> [MQTTMessage] {
        try await loop.handle(.connected)
        return bus.take()
    }
}

/// A session's life as its messages.
struct Script {
    let key: SessionKey
    var state: SessionState

    init(_ user: String = "demo", start: Double = 1_700_000_000) {
        key = SessionKey(User(user)!, SessionID(UUID()))
        let at = Timestamp(seconds: start)
        let session = Session(
            key: key, start: SessionStart(activity: .running, countdown: 0), at: at, now: at + 1_000)
        state = session.state(revision: 1)
    }

    var stateMessage: MQTTMessage { Topic.session(key, .state).message(JSONCoding.encode(state)) }

    /// The state with other segments and status, under the next revision.
    mutating func change(_ status: SessionStatus, _ segments: [Segment]) -> MQTTMessage {
        state.revision += 1
        state.status = status
        state.segments = segments
        return stateMessage
    }

    func batch(_ device: String, _ first: Int, _ items: [Sample]) -> MQTTMessage {
        Topic.session(key, .samples(Device(device)!)).message(SampleBatch(first: first, items: items).payload)
    }
}

extension [MQTTMessage] {
    func payloads(_ topic: Topic) -> [[UInt8]] { filter { $0.topic == topic.name }.map { [UInt8]($0.payload) } }

    func acks(_ key: SessionKey, _ device: String) throws -> [Ack] {
        try payloads(.session(key, .samplesAck(Device(device)!))).map { try Ack($0) }
    }
}
