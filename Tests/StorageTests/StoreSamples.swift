import Foundation
import Storage
import TestSupport
import Workouts

/// Names shared by the tests of this module.
extension StoreCollection {
    static let apples = StoreCollection("apples")
    static let pears = StoreCollection("pears")
    /// Not in any schema, so a write to it fails.
    static let unknown = StoreCollection("unknown")
}

extension StoreSchema {
    static let fruit = StoreSchema(service: "orchard", steps: [[.apples, .pears]])
}

extension TemporaryFolder {
    var store: String { file("store.sqlite") }
}

/// An open store with its epoch.
struct OpenStore {
    let store: SQLiteStore
    let shards: Set<Shard>
    let epoch: Epoch

    init(_ path: String, schema: StoreSchema = .fruit, erasureInterval: Duration = .seconds(20)) async throws {
        store = try SQLiteStore(
            path: path, schema: schema, shards: Set(Shard.all), erasureInterval: erasureInterval)
        var changes = store.ownership.makeAsyncIterator()
        guard case .gained(let epochs)? = await changes.next(), let epoch = epochs.values.first else {
            throw NothingGained()
        }
        shards = Set(epochs.keys)
        self.epoch = epoch
    }

    struct NothingGained: Error {}

    func put(
        _ key: String, _ value: [UInt8], shard: Shard = Shard(7), in collection: StoreCollection = .apples,
        epoch: Epoch? = nil
    ) -> StoreWrite {
        StoreWrite(
            shard: shard, epoch: epoch ?? self.epoch, collection: collection, change: .put(key: key, value: value))
    }

    func delete(_ key: String, shard: Shard = Shard(7), in collection: StoreCollection = .apples) -> StoreWrite {
        StoreWrite(shard: shard, epoch: epoch, collection: collection, change: .delete(key: key))
    }

    func deleteFolder(_ path: String, shard: Shard, in collection: StoreCollection) -> StoreWrite {
        StoreWrite(shard: shard, epoch: epoch, collection: collection, change: .deleteFolder(path: path))
    }

    func all(_ collection: StoreCollection = .apples) async throws -> [StoreKey: [UInt8]] {
        let records = try await store.records(in: collection, shards: Set(Shard.all))
        return Dictionary(uniqueKeysWithValues: records.map { (StoreKey(shard: $0.shard, key: $0.key), $0.value) })
    }
}
