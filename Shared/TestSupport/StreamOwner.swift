import Foundation
package import MQTT
package import ServiceKit
package import Storage
package import Streams
import Workouts

/// The loop of a stream owner. The test passes its events one by one.
package struct StreamOwner<Work: StreamWork> {
    package let bus = RecordingBus()
    package let store: RefusingStore
    package let clock: ManualClock
    package private(set) var loop: StreamLoop<Work>

    /// Starts on the store in a folder, like a process.
    package init(
        _ folder: TemporaryFolder, clock: ManualClock, bounds: StreamBounds = StreamBounds()
    ) async throws {
        let store = try SQLiteStore(
            path: folder.file("\(Work.service).sqlite"), schema: StreamStore.schema(Work.service),
            shards: Set(Shard.all))
        try await self.init(store, clock: clock, bounds: bounds)
    }

    /// Starts on a store that has gained its first shards.
    package init(
        _ store: any Store, clock: ManualClock, bounds: StreamBounds = StreamBounds()
    ) async throws {
        self.clock = clock
        self.store = RefusingStore(store)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: Work.service), logger: .silent, bus: bus,
            clock: clock)
        loop = StreamLoop(context: context, store: self.store, bounds: bounds)
        for await change in store.ownership {
            try await loop.handle(.ownership(change))
            break
        }
        try await loop.handle(.connected)
    }

    /// Handles an event and returns the sent messages.
    @discardableResult
    package mutating func handle(_ event: ServiceEvent) async throws -> [MQTTMessage] {
        try await loop.handle(event)
        return bus.take()
    }

    /// Delivers messages in one batch and returns the sent messages.
    @discardableResult
    package mutating func deliver(_ messages: [MQTTMessage]) async throws -> [MQTTMessage] {
        try await handle(.batch(MQTTBatch(messages: messages) {}))
    }

    @discardableResult
    package mutating func tick() async throws -> [MQTTMessage] { try await handle(.tick) }

    package mutating func connect() async throws -> [MQTTMessage] { try await handle(.connected) }
}
