import Storage
import Workouts

/// A store whose reads and commits count as waits of the service's loop: loading thousands of records, or a database that is
/// away for minutes, is no hang.
struct WatchedStore: Store {
    let store: any Store
    let liveness: Liveness

    var ownership: AsyncStream<OwnershipChange> { store.ownership }

    func released(_ shards: Set<Shard>) async { await store.released(shards) }

    func owns(_ shard: Shard, under epoch: Epoch) -> Bool { store.owns(shard, under: epoch) }

    func verify() throws(StoreError) { try store.verify() }

    func close() async { await store.close() }

    func commit(
        _ writes: [StoreWrite], trim: JournalTrim?, mayUseReserve: Bool
    ) async throws(StoreError) -> CommitReport {
        try await liveness.waiting { () async throws(StoreError) in
            try await store.commit(writes, trim: trim, mayUseReserve: mayUseReserve)
        }
    }

    func journal(of shards: Set<Shard>) async throws(StoreError) -> JournalTail {
        try await liveness.waiting { () async throws(StoreError) in try await store.journal(of: shards) }
    }

    func records(in collection: StoreCollection, shards: Set<Shard>) async throws(StoreError) -> [StoreRecord] {
        try await liveness.waiting { () async throws(StoreError) in
            try await store.records(in: collection, shards: shards)
        }
    }

    func records(in collection: StoreCollection, at keys: [StoreKey]) async throws(StoreError) -> [StoreRecord] {
        try await liveness.waiting { () async throws(StoreError) in try await store.records(in: collection, at: keys) }
    }

    func records(
        in collection: StoreCollection, below folders: [StoreFolder]
    ) async throws(StoreError) -> [StoreRecord] {
        try await liveness.waiting { () async throws(StoreError) in
            try await store.records(in: collection, below: folders)
        }
    }

    func records(
        in collection: StoreCollection, of ranges: [StoreRange], limit: Int
    ) async throws(StoreError) -> [StoreRecord] {
        try await liveness.waiting { () async throws(StoreError) in
            try await store.records(in: collection, of: ranges, limit: limit)
        }
    }
}
