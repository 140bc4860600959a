import Foundation
import GRDB
import TestSupport
import Testing
import Workouts

@testable import Storage

/// Names shared by the tests of this module.
extension StoreCollection {
    static let apples = StoreCollection("apples")
    static let pears = StoreCollection("pears")
    /// Not in any schema, so a write to it fails.
    static let unknown = StoreCollection("unknown")
}

extension StoreSchema {
    static let fruit = StoreSchema(service: "orchard", steps: [[.apples, .pears]])
    static let journaled = StoreSchema(service: "orchard", steps: [[.apples, .pears], [.journal]])
}

extension TemporaryFolder {
    var store: String { file("store.sqlite") }
}

/// The stores that a test runs on.
enum StoreKind: CaseIterable {
    case sqlite, postgres

    static var available: [StoreKind] { PostgresServer.isInstalled ? allCases : [.sqlite] }

    /// A place without a store.
    func place() async throws -> StorePlace {
        switch self {
        case .sqlite: return .sqlite(try TemporaryFolder())
        case .postgres:
            let server = try await PostgresServer.shared
            return .postgres(server.url(try await server.createDatabase()))
        }
    }
}

/// Where a test's store is.
enum StorePlace {
    case sqlite(TemporaryFolder)
    case postgres(String)
}

/// An open store with its epoch.
struct OpenStore {
    let store: any Store
    let shards: Set<Shard>
    let epoch: Epoch

    init(
        _ path: String, schema: StoreSchema = .fruit, erasureInterval: Duration = .seconds(20),
        reserveSize: Int = 4_096
    ) async throws {
        try await self.init(
            SQLiteStore(
                path: path, schema: schema, shards: Set(Shard.all), erasureInterval: erasureInterval,
                reserveSize: reserveSize))
    }

    /// - Parameter lease: by default so long that a busy machine loses no shard.
    init(_ place: StorePlace, schema: StoreSchema = .fruit, lease: Duration = .seconds(600)) async throws {
        switch place {
        case .sqlite(let folder): try await self.init(folder.store, schema: schema)
        case .postgres(let url):
            try await self.init(
                PostgresStore(PostgresAddress(url), schema: schema, plan: .shards(Set(Shard.all)), lease: lease))
        }
    }

    private init(_ store: any Store) async throws {
        self.store = store
        var changes = store.ownership.makeAsyncIterator()
        guard case .gained(let epochs)? = await changes.next(), let epoch = epochs.values.first else {
            throw NothingGained()
        }
        shards = Set(epochs.keys)
        self.epoch = epoch
    }

    /// The database of a SQLite store.
    var database: DatabasePool {
        get throws { try #require(store as? SQLiteStore).database }
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

    func append(
        _ stream: String, _ first: Int, _ items: [UInt8], shard: Shard = Shard(7)
    ) -> StoreWrite {
        StoreWrite(
            shard: shard, epoch: epoch, collection: .journal,
            change: .append(stream: stream, first: first, items: items))
    }

    /// The trim of all that is in the journal of some shards.
    func everything(of shards: Set<Shard>) -> JournalTrim {
        .shards(Dictionary(uniqueKeysWithValues: shards.map { ($0, epoch) }))
    }

    @discardableResult
    func trim(_ trim: JournalTrim, _ writes: [StoreWrite] = []) async throws -> CommitReport {
        try await store.commit(writes, trim: trim, mayUseReserve: false)
    }

    func journal() async throws -> JournalTail { try await store.journal(of: shards) }

    func all(_ collection: StoreCollection = .apples) async throws -> [StoreKey: [UInt8]] {
        let records = try await store.records(in: collection, shards: Set(Shard.all))
        return Dictionary(uniqueKeysWithValues: records.map { (StoreKey(shard: $0.shard, key: $0.key), $0.value) })
    }
}
