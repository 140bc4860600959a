package import Storage
import Synchronization
package import Workouts

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
        var isFull = false
        var refusesReads = false
        var next: Failure?
        var isClosed = false
    }

    package let ownership: AsyncStream<OwnershipChange>
    private let changes: AsyncStream<OwnershipChange>.Continuation
    private let database: MemoryDatabase
    private let id: Int
    private let faults = Mutex(Faults())
    /// The shards that this replica believes to own.
    private let known = Mutex<[Shard: Epoch]>([:])

    init(database: MemoryDatabase, id: Int) {
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
        known.withLock { $0.merge(epochs) { $1 } }
        return yield(.gained(epochs))
    }

    /// Requests the release of shards. The replica owns them until ``released(_:)``.
    @discardableResult
    package func release(_ shards: Set<Shard>) -> OwnershipChange { yield(.releasing(shards)) }

    /// Takes shards away. The store knows at once, a loop when it handles the change.
    @discardableResult
    package func lose(_ shards: Set<Shard>) -> OwnershipChange {
        disown(shards)
        return yield(.lost(shards))
    }

    package func released(_ shards: Set<Shard>) async { disown(shards) }

    package func owns(_ shard: Shard, under epoch: Epoch) -> Bool { known.withLock { $0[shard] == epoch } }

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
        known.withLock { known in for shard in shards { known[shard] = nil } }
        database.state.withLock { [id] state in
            for shard in shards where state.owners[shard] == id { state.owners[shard] = nil }
        }
    }

    // MARK: Faults

    /// Makes every commit fail until ``accept()``.
    package func refuse() { faults.withLock { $0.refusesWrites = true } }

    /// Makes every commit fail that may not use the reserve, until ``accept()``.
    package func fill() { faults.withLock { $0.isFull = true } }

    package func accept() {
        faults.withLock { faults in
            faults.refusesWrites = false
            faults.isFull = false
        }
    }

    /// Sets whether every read fails.
    package func refuseReads(_ refuses: Bool) { faults.withLock { $0.refusesReads = refuses } }

    /// Makes the next commit fail.
    package func failNextCommit(_ failure: Failure) { faults.withLock { $0.next = failure } }

    // MARK: Records

    package func commit(
        _ writes: [StoreWrite], trim: JournalTrim?, mayUseReserve: Bool
    ) async throws(StoreError) -> CommitReport {
        let (refuses, failure) = faults.withLock { faults in
            defer { faults.next = nil }
            return (
                faults.refusesWrites || faults.isClosed || faults.isFull && !mayUseReserve, faults.next
            )
        }
        guard !refuses, failure != .beforeWriting else { throw .notWritable("disk full") }
        let report = database.state.withLock { [id] state in
            var report = CommitReport()
            let position = JournalPosition(incarnation: Int64(id), sequence: state.nextSequence)
            for write in writes {
                guard state.owners[write.shard] == id, state.epochs[write.shard] == write.epoch else {
                    report.lostShards.insert(write.shard)
                    continue
                }
                if state.apply(write, position) { report.journaled = position }
            }
            state.nextSequence += 1
            if let trim { state.trim(trim, before: position, except: report.lostShards) }
            return report
        }
        if failure == .afterWriting { throw .notWritable("connection lost") }
        return report
    }

    package func journal(of shards: Set<Shard>) async throws(StoreError) -> JournalTail {
        guard !faults.withLock({ $0.refusesReads || $0.isClosed }) else { throw .notReadable("disk I/O error") }
        let rows = database.state.withLock(\.journal).filter { shards.contains($0.entry.shard) }
            .sorted { $0.position < $1.position }
        return JournalTail(
            entries: rows.filter { !$0.isDamaged }.map(\.entry), skipped: rows.count(where: \.isDamaged))
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
        in collection: StoreCollection, of ranges: [StoreRange], limit: Int
    ) async throws(StoreError) -> [StoreRecord] {
        try read(collection) { records in
            ranges.flatMap { range in
                records.filter { $0.shard == range.shard && range.keys.contains($0.key) }
                    .sorted { range.isDescending ? $0.key > $1.key : $0.key < $1.key }.prefix(limit)
            }
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
