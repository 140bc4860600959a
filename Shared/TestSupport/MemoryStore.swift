package import Storage
import Synchronization
package import Workouts

/// The records and leases that several ``MemoryStore`` replicas share.
package final class MemoryDatabase: Sendable {
    fileprivate struct State {
        var records: [StoreCollection: [StoreKey: [UInt8]]] = [:]
        var epochs: [Shard: Epoch] = [:]
        var owners: [Shard: Int] = [:]
        var replicas = 0
    }

    fileprivate let state = Mutex(State())

    package init() {}

    /// A new replica. It owns nothing at first.
    package func replica() -> MemoryStore {
        let id = state.withLock { state in
            state.replicas += 1
            return state.replicas
        }
        return MemoryStore(database: self, id: id)
    }

    /// All records of a collection.
    package func records(in collection: StoreCollection) -> [StoreKey: [UInt8]] {
        state.withLock { $0.records[collection] ?? [:] }
    }
}

/// An in-memory store that gains, releases and loses shards and fails on request of a test.
///
/// Each change of ownership goes to ``ownership`` and is returned, so that tests can pass events to a loop.
package final class MemoryStore: Store {
    /// How the next commit fails.
    package enum Failure: Sendable {
        /// Nothing is written.
        case beforeWriting
        /// Everything is written, and the commit throws anyway.
        case afterWriting
    }

    private struct Faults {
        var refusesWrites = false
        var refusesReads = false
        var next: Failure?
        var isClosed = false
    }

    package let ownership: AsyncStream<OwnershipChange>
    private let changes: AsyncStream<OwnershipChange>.Continuation
    private let database: MemoryDatabase
    private let id: Int
    private let faults = Mutex(Faults())

    fileprivate init(database: MemoryDatabase, id: Int) {
        self.database = database
        self.id = id
        (ownership, changes) = AsyncStream.makeStream()
    }

    /// The only replica of a database, owning every shard.
    package static func owningAll() -> MemoryStore {
        let store = MemoryDatabase().replica()
        store.gain(Set(Shard.all))
        return store
    }

    // MARK: Ownership

    /// The shards that this replica owns.
    package var owned: Set<Shard> {
        database.state.withLock { [id] state in Set(state.owners.filter { $0.value == id }.keys) }
    }

    /// Takes shards, also from another replica, under new epochs. Writes under the former epochs are dropped from now
    /// on.
    @discardableResult
    package func gain(_ shards: Set<Shard>) -> OwnershipChange {
        let epochs = database.state.withLock { [id] state in
            for shard in shards {
                state.owners[shard] = id
                state.epochs[shard] = Epoch((state.epochs[shard]?.number ?? 0) + 1)
            }
            return state.epochs.filter { shards.contains($0.key) }
        }
        return yield(.gained(epochs))
    }

    /// Requests the release of shards. The replica owns them until ``released(_:)``.
    @discardableResult
    package func release(_ shards: Set<Shard>) -> OwnershipChange { yield(.releasing(shards)) }

    /// Takes shards away.
    @discardableResult
    package func lose(_ shards: Set<Shard>) -> OwnershipChange {
        disown(shards)
        return yield(.lost(shards))
    }

    package func released(_ shards: Set<Shard>) async { disown(shards) }

    package func close() async {
        faults.withLock { $0.isClosed = true }
        disown(Set(Shard.all))
        changes.finish()
    }

    private func yield(_ change: OwnershipChange) -> OwnershipChange {
        changes.yield(change)
        return change
    }

    private func disown(_ shards: Set<Shard>) {
        database.state.withLock { [id] state in
            for shard in shards where state.owners[shard] == id { state.owners[shard] = nil }
        }
    }

    // MARK: Faults

    /// Makes every commit fail until ``accept()``.
    package func refuse() { faults.withLock { $0.refusesWrites = true } }

    package func accept() { faults.withLock { $0.refusesWrites = false } }

    /// Sets whether every read fails.
    package func refuseReads(_ refuses: Bool) { faults.withLock { $0.refusesReads = refuses } }

    /// Makes the next commit fail.
    package func failNextCommit(_ failure: Failure) { faults.withLock { $0.next = failure } }

    // MARK: Records

    package func commit(_ writes: [StoreWrite]) async throws(StoreError) -> CommitReport {
        let (refuses, failure) = faults.withLock { faults in
            defer { faults.next = nil }
            return (faults.refusesWrites || faults.isClosed, faults.next)
        }
        guard !refuses, failure != .beforeWriting else { throw .notWritable("disk full") }
        let report = database.state.withLock { [id] state in
            var report = CommitReport()
            for write in writes {
                guard state.owners[write.shard] == id, state.epochs[write.shard] == write.epoch else {
                    report.lostShards.insert(write.shard)
                    continue
                }
                switch write.change {
                case .put(let key, let value):
                    state.records[write.collection, default: [:]][StoreKey(shard: write.shard, key: key)] = value
                case .delete(let key):
                    state.records[write.collection]?[StoreKey(shard: write.shard, key: key)] = nil
                case .deleteFolder(let path):
                    let keys = state.records[write.collection]?.keys.filter {
                        $0.shard == write.shard && $0.key.hasPrefix(path + "/")
                    }
                    for key in keys ?? [] { state.records[write.collection]?[key] = nil }
                }
            }
            return report
        }
        if failure == .afterWriting { throw .notWritable("connection lost") }
        return report
    }

    package func records(
        in collection: StoreCollection, shards: Set<Shard>
    ) async throws(StoreError) -> [StoreRecord] {
        try read(collection) { records in
            records.filter { shards.contains($0.shard) }.sorted { ($0.shard, $0.key) < ($1.shard, $1.key) }
        }
    }

    package func records(
        in collection: StoreCollection, at keys: [StoreKey]
    ) async throws(StoreError) -> [StoreRecord] {
        try read(collection) { records in
            let found = Dictionary(uniqueKeysWithValues: records.map { (StoreKey(shard: $0.shard, key: $0.key), $0) })
            return keys.compactMap { found[$0] }
        }
    }

    package func records(
        in collection: StoreCollection, below folders: [StoreFolder]
    ) async throws(StoreError) -> [StoreRecord] {
        try read(collection) { records in
            folders.flatMap { folder in
                records.filter { $0.shard == folder.shard && $0.key.hasPrefix(folder.path + "/") }
                    .sorted { $0.key < $1.key }
            }
        }
    }

    package func records(
        in collection: StoreCollection, of range: StoreRange, limit: Int
    ) async throws(StoreError) -> [StoreRecord] {
        try read(collection) { records in
            let found = records.filter { $0.shard == range.shard && range.keys.contains($0.key) }
                .sorted { range.isDescending ? $0.key > $1.key : $0.key < $1.key }
            return Array(found.prefix(limit))
        }
    }

    private func read(
        _ collection: StoreCollection, _ select: ([StoreRecord]) -> [StoreRecord]
    ) throws(StoreError) -> [StoreRecord] {
        guard !faults.withLock({ $0.refusesReads || $0.isClosed }) else { throw .notReadable("disk I/O error") }
        let records = database.records(in: collection).map { key, value in
            StoreRecord(shard: key.shard, key: key.key, value: value)
        }
        return select(records)
    }
}
