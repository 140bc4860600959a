import Foundation
package import MQTT
import ServiceKit
import Storage
package import Streams
import Workouts

/// The loop of a service that owns streams on a real store, its events handed to it one by one.
package struct StreamOwner<Work: StreamWork> {
    package let bus = RecordingBus()
    package let store: RefusingStore
    package let clock: ManualClock
    package private(set) var loop: StreamLoop<Work>

    /// Starts on the store in a folder, as a process does.
    package init(_ folder: TemporaryFolder, clock: ManualClock) async throws {
        self.clock = clock
        store = RefusingStore(
            try SQLiteStore(
                path: folder.file("\(Work.service).sqlite"), schema: StreamStore.schema(Work.service),
                shards: Set(Shard.all)))
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: Work.service),
            logger: .silent, bus: bus, clock: clock)
        loop = StreamLoop(context: context, store: store)
        for await change in store.ownership {
            try await loop.handle(.ownership(change))
            break
        }
        try await loop.handle(.connected)
    }

    /// Delivers messages in one batch and returns what was sent.
    @discardableResult
    package mutating func deliver(_ messages: [MQTTMessage]) async throws -> [MQTTMessage] {
        try await loop.handle(.batch(MQTTBatch(messages: messages) {}))
        return bus.take()
    }

    @discardableResult
    package mutating func tick() async throws -> [MQTTMessage] {
        try await loop.handle(.tick)
        return bus.take()
    }

    package mutating func connect() async throws -> [MQTTMessage] {
        try await loop.handle(.connected)
        return bus.take()
    }
}
