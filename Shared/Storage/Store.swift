package import Workouts

/// Where a service keeps what it must not lose: records of bytes under keys, in collections, divided into shards.
///
/// No database handle is given out. A service learns which shards it owns from ``ownership`` and from nothing else, and
/// loads, subscribes and drops on that alone.
package protocol Store: Sendable {
    /// What this process gains and loses. SQLite gains everything once, when it is opened.
    var ownership: AsyncStream<OwnershipChange> { get }

    /// Makes writes durable in one transaction, in their order: all of them or, when it throws, none.
    ///
    /// Writes of a shard that this process no longer owns under the write's epoch are left out and reported; the others
    /// are committed.
    ///
    /// What is durable never throws. Cancelling the task may keep a commit from being made: it then throws as if the disk
    /// had refused.
    /// - Throws: ``StoreError/notWritable(_:)`` when the disk refuses; nothing counts and it may be tried again. Only a
    ///   disk that broke while it was writing may show some such commit, whole, after the next start.
    func commit(_ writes: [StoreWrite]) async throws(StoreError) -> CommitReport

    /// All records of some shards, by shard and key.
    func records(in collection: StoreCollection, shards: Set<Shard>) async throws(StoreError) -> [StoreRecord]

    /// The records under some keys, in the order of those, as far as there are any.
    func records(in collection: StoreCollection, at keys: [StoreKey]) async throws(StoreError) -> [StoreRecord]

    /// All records whose key begins with one of some folders and a slash, folder after folder, each by key.
    func records(in collection: StoreCollection, below folders: [StoreFolder]) async throws(StoreError) -> [StoreRecord]
}

package enum OwnershipChange: Equatable, Sendable {
    /// From now on this process alone works for these shards, under this epoch.
    case gained(Set<Shard>, Epoch)
    /// Another process may work for these shards now; what was not committed is no longer ours to commit.
    case lost(Set<Shard>)
}

/// Counts the owners of a shard: the higher one is the later.
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
}

/// Where one record lies.
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

/// One change of a commit, with the shard it belongs to and the epoch of the owner that wants it.
package struct StoreWrite: Equatable, Sendable {
    package enum Change: Equatable, Sendable {
        /// Adds a record or replaces the one under the same key.
        case put(key: String, value: [UInt8])
        /// Removes the record, if there is one.
        case delete(key: String)
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
    /// Shards whose writes were left out because they are owned by another.
    package var lostShards: Set<Shard> = []
}

/// What is wrong with a store, by what can be done about it.
package enum StoreError: Error, Equatable, Sendable {
    /// Another process has the file: there can be one replica with SQLite.
    case inUse(path: String)
    /// A newer version of the service wrote it: run that one.
    case newer(path: String, version: Int, supported: Int)
    /// Written by another service: the settings name the wrong file.
    case foreign(path: String, service: String)
    /// It cannot be opened or read.
    case notReadable(String)
    /// The disk refuses writes: full, read-only or broken. What was to be written is not.
    case notWritable(String)
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inUse(let path): "the store \(path) is in use by another process; with SQLite there can be only one"
        case .newer(let path, let version, let supported):
            "the store \(path) has version \(version), this program knows up to \(supported); run a newer one"
        case .foreign(let path, let service): "the store \(path) belongs to \(service); name another file"
        case .notReadable(let text): "the store cannot be read: \(text)"
        case .notWritable(let text): "the store cannot be written: \(text)"
        }
    }
}

/// What a service's store holds. Its version is the number of steps; a store of an older version is taken through those
/// it lacks.
package struct StoreSchema: Sendable {
    /// The service the store belongs to.
    package let service: String
    /// The collections that each version added.
    package let steps: [[StoreCollection]]

    package init(service: String, steps: [[StoreCollection]]) {
        self.service = service
        self.steps = steps
    }

    var version: Int { steps.count }
}
