package import Workouts

/// A service's durable records: bytes under keys, in collections, divided into shards.
///
/// It exposes no database handle. ``ownership`` alone defines which shards a service owns, loads, subscribes to and
/// drops.
package protocol Store: Sendable {
    /// The shards this process gains and loses. The first change follows at once: a gain, empty if other replicas own
    /// all shards. The end of the stream means no loss: SQLite gains its shards once, then ends it.
    var ownership: AsyncStream<OwnershipChange> { get }

    /// Confirms ``OwnershipChange/releasing(_:)``: the service has committed its last write to these shards and dropped them.
    func released(_ shards: Set<Shard>) async

    /// Whether this process owns a shard under an epoch, as far as it knows: it may have lost it before ``ownership`` reports
    /// that. Nothing may be published of a shard that it does not own. Cheap: the network's thread asks before each write.
    func owns(_ shard: Shard, under epoch: Epoch) -> Bool

    /// Checks that what the store writes is kept. Cheap: the service asks before each event.
    ///
    /// - Throws: ``StoreError/vanished(path:)`` if a file was removed or replaced. Nothing may be acknowledged then, and the
    ///   process has to end.
    func verify() throws(StoreError)

    /// Gives up every shard and closes the store, after the last commit. Later commits and reads throw.
    func close() async

    /// Makes writes durable in one transaction, in their order: all of them or, when it throws, none.
    ///
    /// It leaves out and reports writes to a shard that this process no longer owns under the write's epoch, and commits the
    /// others.
    ///
    /// A durable commit never throws. Canceling the task may prevent the commit, which then throws as for a failed write.
    ///
    /// PostgreSQL refuses a commit of more than 16 MiB.
    ///
    /// - Parameters:
    ///   - trim: the part of the journal to remove, in the same transaction.
    ///   - mayUseReserve: whether a full disk releases the reserve for this commit. For those that make room: moves from the
    ///     journal into records, and deletions.
    /// - Throws: ``StoreError/notWritable(_:)`` when the write failed; nothing is committed, and the caller may retry.
    ///   Only after a disk failure during the write may the whole commit be present at the next start.
    func commit(_ writes: [StoreWrite], trim: JournalTrim?, mayUseReserve: Bool) async throws(StoreError)
        -> CommitReport

    /// The entries of some shards that no trim has covered. The owner keeps the journal below 64 MiB.
    func journal(of shards: Set<Shard>) async throws(StoreError) -> JournalTail

    /// All records of some shards, by shard and key.
    func records(in collection: StoreCollection, shards: Set<Shard>) async throws(StoreError) -> [StoreRecord]

    /// The records under some keys, in the order of those keys; keys without a record are left out.
    func records(in collection: StoreCollection, at keys: [StoreKey]) async throws(StoreError) -> [StoreRecord]

    /// All records whose key begins with one of some folders and a slash, folder after folder, each by key.
    func records(in collection: StoreCollection, below folders: [StoreFolder]) async throws(StoreError) -> [StoreRecord]

    /// The first records of some ranges of one direction, at most `limit` of each, range after range. It costs what it returns,
    /// however large the collection is.
    func records(in collection: StoreCollection, of ranges: [StoreRange], limit: Int) async throws(StoreError)
        -> [StoreRecord]
}

extension Store {
    /// A database server watches its own files.
    package func verify() throws(StoreError) {}

    /// The shards among these that this process does not own under their epochs.
    package func lost(of epochs: [Shard: Epoch]) -> Set<Shard> {
        Set(epochs.lazy.filter { !owns($0.key, under: $0.value) }.map(\.key))
    }

    /// Makes writes durable without a trim and without the reserve.
    package func commit(_ writes: [StoreWrite]) async throws(StoreError) -> CommitReport {
        try await commit(writes, trim: nil, mayUseReserve: false)
    }

    /// The first records of a range, at most `limit`.
    package func records(
        in collection: StoreCollection, of range: StoreRange, limit: Int
    ) async throws(StoreError) -> [StoreRecord] {
        try await records(in: collection, of: [range], limit: limit)
    }
}

package enum OwnershipChange: Equatable, Sendable {
    /// From now on this process alone owns these shards, each under its epoch.
    case gained([Shard: Epoch])
    /// This process is to commit, drop these shards and confirm with ``Store/released(_:)``. It owns them until then.
    case releasing(Set<Shard>)
    /// Another process may own these shards now. Uncommitted changes to them are void.
    case lost(Set<Shard>)
}

/// The number of a shard's owner. A later owner has a higher one.
package struct Epoch: Hashable, Comparable, Sendable {
    package let number: Int64

    package init(_ number: Int64) {
        self.number = number
    }

    package static func < (left: Epoch, right: Epoch) -> Bool { left.number < right.number }
}

/// A kind of record. The name is that of its table: lowercase letters and underscores.
package struct StoreCollection: Hashable, Sendable {
    package let name: String

    package init(_ name: StaticString) {
        self.name = "\(name)"
    }
}

package struct StoreRecord: Equatable, Sendable {
    package let shard: Shard
    package let key: String
    package let value: [UInt8]

    package init(shard: Shard, key: String, value: [UInt8]) {
        self.shard = shard
        self.key = key
        self.value = value
    }
}

/// Where one record is stored.
package struct StoreKey: Hashable, Comparable, Sendable {
    package let shard: Shard
    package let key: String

    package init(shard: Shard, key: String) {
        self.shard = shard
        self.key = key
    }

    package static func < (left: StoreKey, right: StoreKey) -> Bool {
        (left.shard, left.key) < (right.shard, right.key)
    }
}

/// The records of one shard whose keys begin with `path/`.
package struct StoreFolder: Hashable, Sendable {
    package let shard: Shard
    package let path: String

    package init(shard: Shard, path: String) {
        self.shard = shard
        self.path = path
    }
}

/// The records of one shard from a key up to and without another, in the order of their keys or the reverse.
package struct StoreRange: Hashable, Sendable {
    package let shard: Shard
    package var keys: Range<String>
    package let isDescending: Bool

    package init(shard: Shard, keys: Range<String>, isDescending: Bool = false) {
        self.shard = shard
        self.keys = keys
        self.isDescending = isDescending
    }

    /// All records of a shard: keys are text, and no text is above this bound.
    package init(shard: Shard) {
        self.init(shard: shard, keys: ""..<"\u{10ffff}")
    }

    /// The records of a folder.
    package init(_ folder: StoreFolder, isDescending: Bool = false) {
        // "0" follows "/" in ASCII.
        self.init(shard: folder.shard, keys: "\(folder.path)/"..<"\(folder.path)0", isDescending: isDescending)
    }

    /// The part of an ascending range after a key.
    package func after(_ key: String) -> StoreRange {
        // Keys contain no control characters, so the key followed by U+0001 is a bound that no other key is below.
        StoreRange(shard: shard, keys: min(key + "\u{1}", keys.upperBound)..<keys.upperBound)
    }
}

/// One change of a commit, with its shard and the epoch under which the writer owns that shard.
package struct StoreWrite: Equatable, Sendable {
    package enum Change: Equatable, Sendable {
        /// Adds a record or replaces the one under the same key.
        case put(key: String, value: [UInt8])
        /// Removes the record, if there is one.
        case delete(key: String)
        /// Removes all records whose key begins with `path/`.
        case deleteFolder(path: String)
        /// Adds consecutive items of a stream to the collection ``StoreCollection/journal``. The items of a commit form one
        /// entry for each append.
        case append(stream: String, first: Int, items: [UInt8])
    }

    package let shard: Shard
    package let epoch: Epoch
    package let collection: StoreCollection
    package let change: Change

    package init(shard: Shard, epoch: Epoch, collection: StoreCollection, change: Change) {
        self.shard = shard
        self.epoch = epoch
        self.collection = collection
        self.change = change
    }
}

package struct CommitReport: Equatable, Sendable {
    /// Shards that this process no longer owns; their writes were left out.
    package var lostShards: Set<Shard> = []
    /// The last record that the commit appended to the journal; `nil` if it appended nothing.
    package var journaled: JournalPosition?

    package init(lostShards: Set<Shard> = [], journaled: JournalPosition? = nil) {
        self.lostShards = lostShards
        self.journaled = journaled
    }
}

/// Why a store cannot be used, one case for each remedy.
package enum StoreError: Error, Equatable, Sendable {
    /// Another process has the file open: with SQLite, a service runs as one process.
    case inUse(path: String)
    /// A newer version of the service wrote it: run that one.
    case newer(path: String, version: Int, supported: Int)
    /// Written by another service: the settings name the wrong file.
    case foreign(path: String, service: String)
    /// Its folder does not exist: the settings name the wrong one, or it is not mounted.
    case missingFolder(String)
    /// Its file is gone since an earlier start.
    case missing(path: String)
    /// It cannot be opened or read.
    case notReadable(String)
    /// The disk refuses writes: full, read-only or broken. Nothing was written.
    case notWritable(String)
    /// Its file is no longer the one that this process opened: end the process.
    case vanished(path: String)
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inUse(let path):
            "the store \(path) is in use by another process; stop that process or use another --store-url"
        case .newer(let path, let version, let supported):
            "the store \(path) has version \(version), this program supports at most \(supported); "
                + "run the newer program or restore a backup"
        case .foreign(let path, let service): "the store \(path) belongs to \(service); use another --store-url"
        case .missingFolder(let folder):
            "the store's folder \(folder) does not exist; create it, or correct --store-url (STORE_URL)"
        case .missing(let path):
            "the store \(path) is missing: move it back, or restore a backup; to begin with an empty store, delete \(path).lock"
        case .notReadable(let text): "the store cannot be read: \(text)"
        case .notWritable(let text): "the store cannot be written: \(text)"
        case .vanished(let path):
            "\(path) was removed or replaced while the service ran; nothing is acknowledged any more. Restore the folder, "
                + "then start the service again"
        }
    }
}

/// The schema of a service's store. Its version is the number of steps; a store of an older version is taken through
/// those it lacks.
package struct StoreSchema: Sendable {
    /// The service the store belongs to.
    package let service: String
    /// The collections that each version added, ``StoreCollection/journal`` among them if the store has one.
    package let steps: [[StoreCollection]]

    package init(service: String, steps: [[StoreCollection]]) {
        self.service = service
        self.steps = steps
    }

    var version: Int { steps.count }

    var hasJournal: Bool { steps.joined().contains(.journal) }
}
