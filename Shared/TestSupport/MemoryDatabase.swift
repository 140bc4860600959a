package import Storage
import Synchronization
import Workouts

/// The records and leases that several ``MemoryStore`` replicas share.
package final class MemoryDatabase: Sendable {
    struct State {
        var records: [StoreCollection: [StoreKey: [UInt8]]] = [:]
        var epochs: [Shard: Epoch] = [:]
        var owners: [Shard: Int] = [:]
        var replicas = 0
        var journal: [JournalRow] = []
        var nextSequence: Int64 = 1

        /// Applies a write of its owner. Returns whether it went to the journal.
        mutating func apply(_ write: StoreWrite, _ position: JournalPosition) -> Bool {
            switch write.change {
            case .put(let key, let value):
                records[write.collection, default: [:]][StoreKey(shard: write.shard, key: key)] = value
            case .delete(let key):
                records[write.collection]?[StoreKey(shard: write.shard, key: key)] = nil
            case .deleteFolder(let path):
                let keys = records[write.collection]?.keys.filter {
                    $0.shard == write.shard && $0.key.hasPrefix(path + "/")
                }
                for key in keys ?? [] { records[write.collection]?[key] = nil }
            case .append(let stream, let first, let items):
                let entry = JournalEntry(shard: write.shard, stream: stream, first: first, items: items)
                journal.append(JournalRow(position: position, epoch: write.epoch, entry: entry))
                return true
            }
            return false
        }

        mutating func trim(_ trim: JournalTrim, before position: JournalPosition, except lost: Set<Shard>) {
            journal.removeAll { [owners, epochs] row in
                let shard = row.entry.shard
                guard row.position != position, owners[shard].map(Int64.init) == position.incarnation else {
                    return false
                }
                switch trim {
                case .own(let through):
                    return row.position.incarnation == position.incarnation && row.position.sequence <= through
                        && row.epoch == epochs[shard]
                case .shards(let shards): return shards[shard] == epochs[shard] && !lost.contains(shard)
                }
            }
        }
    }

    /// An append. The rows are in the order of the commits.
    struct JournalRow {
        let position: JournalPosition
        let epoch: Epoch
        let entry: JournalEntry
        var isDamaged = false
    }

    let state: Mutex<State>

    package convenience init() { self.init(State()) }

    private init(_ state: State) {
        self.state = Mutex(state)
    }

    /// A copy of the records and leases as they are now.
    package func copy() -> MemoryDatabase { MemoryDatabase(state.withLock(\.self)) }

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

    /// The journal, damaged entries included.
    package var journal: [JournalEntry] { state.withLock { $0.journal.map(\.entry) } }

    /// Damages entries of the journal.
    package func damageJournal(where isDamaged: (JournalEntry) -> Bool) {
        state.withLock { state in
            for index in state.journal.indices where isDamaged(state.journal[index].entry) {
                state.journal[index].isDamaged = true
            }
        }
    }
}
