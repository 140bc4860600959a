package import MQTT
import ServiceKit
import Storage
package import Streams
package import Workouts

/// One of several replicas of a service that owns streams, on a database that they share. It starts without shards.
package struct StreamReplica<Work: StreamWork> {
    package let store: MemoryStore
    package var owner: StreamOwner<Work>

    package init(
        _ database: MemoryDatabase, clock: ManualClock, bounds: StreamBounds = StreamBounds()
    ) async throws {
        store = database.replica()
        store.gain([])
        owner = try await StreamOwner(store, clock: clock, bounds: bounds)
    }

    /// Takes shards, also from another replica, which does not notice. Makes the store accept writes if it must. Returns the sent
    /// messages.
    ///
    /// - Parameter retained: the broker's messages before it grants the subscriptions.
    @discardableResult
    package mutating func gain(_ shards: Set<Shard>, retained: [MQTTMessage] = []) async throws
        -> [MQTTMessage]
    {
        let gained = store.gain(shards)
        var sent: [MQTTMessage]
        do {
            sent = try await owner.handle(.ownership(gained))
        } catch StoreError.notReadable {
            // The service repeats a gain until the journal is in chunks.
            store.accept()
            sent = try await owner.handle(.ownership(gained))
        }
        if !retained.isEmpty { sent += try await owner.deliver(retained) }
        return sent + (try await owner.handle(.announce(shards)))
    }

    /// Releases shards in an orderly way.
    @discardableResult
    package mutating func release(_ shards: Set<Shard>) async throws -> [MQTTMessage] {
        let sent = try await owner.handle(.ownership(store.release(shards)))
        await store.released(shards)
        return sent
    }

    @discardableResult
    package mutating func lose(_ shards: Set<Shard>) async throws -> [MQTTMessage] {
        try await owner.handle(.ownership(store.lose(shards)))
    }
}
