package import Storage
import Synchronization
package import Workouts

/// A store whose commits fail or return late on request of a test, and that counts the records read.
package final class RefusingStore: Store {
    private let store: any Store
    private let isRefusing = Mutex(false)
    private let delay = Mutex<(@Sendable () async -> Void)?>(nil)
    private let readCounts = Mutex<[StoreCollection: Int]>([:])

    package init(_ store: any Store) {
        self.store = store
    }

    package func refuse(_ refuses: Bool) {
        isRefusing.withLock { $0 = refuses }
    }

    /// Makes the next commit that succeeds return after `body`, as in a process that is frozen then.
    package func delayNextCommit(_ body: @escaping @Sendable () async -> Void) {
        delay.withLock { $0 = body }
    }

    /// The number of records read so far, by collection.
    package var reads: [StoreCollection: Int] { readCounts.withLock(\.self) }

    private func counted(_ records: [StoreRecord], _ collection: StoreCollection) -> [StoreRecord] {
        readCounts.withLock { $0[collection, default: 0] += records.count }
        return records
    }

    package var ownership: AsyncStream<OwnershipChange> { store.ownership }

    package func released(_ shards: Set<Shard>) async { await store.released(shards) }

    package func owns(_ shard: Shard, under epoch: Epoch) -> Bool { store.owns(shard, under: epoch) }

    package func close() async { await store.close() }

    package func commit(
        _ writes: [StoreWrite], trim: JournalTrim?, mayUseReserve: Bool
    ) async throws(StoreError) -> CommitReport {
        guard !isRefusing.withLock(\.self) else { throw .notWritable("disk full") }
        let report = try await store.commit(writes, trim: trim, mayUseReserve: mayUseReserve)
        await delay.withLock { $0.take() }?()
        return report
    }

    package func journal(of shards: Set<Shard>) async throws(StoreError) -> JournalTail {
        try await store.journal(of: shards)
    }

    package func records(
        in collection: StoreCollection, shards: Set<Shard>
    ) async throws(StoreError) -> [StoreRecord] {
        counted(try await store.records(in: collection, shards: shards), collection)
    }

    package func records(
        in collection: StoreCollection, at keys: [StoreKey]
    ) async throws(StoreError) -> [StoreRecord] {
        counted(try await store.records(in: collection, at: keys), collection)
    }

    package func records(
        in collection: StoreCollection, below folders: [StoreFolder]
    ) async throws(StoreError) -> [StoreRecord] {
        counted(try await store.records(in: collection, below: folders), collection)
    }

    package func records(
        in collection: StoreCollection, of ranges: [StoreRange], limit: Int
    ) async throws(StoreError) -> [StoreRecord] {
        counted(try await store.records(in: collection, of: ranges, limit: limit), collection)
    }
}
