import Foundation
import Synchronization
import TestSupport
import Workouts

@testable import Storage

/// A service's database in PostgreSQL as its tests read and change it, on a connection of their own.
///
/// Sendable, because the lock lets one thread at a time use the connection.
final class StormDatabase: @unchecked Sendable {
    let server: PostgresServer
    let name: String
    private let schema: StoreSchema
    private let connection: PostgresConnection
    private let lock = Mutex(())

    /// - Parameter schema: the service's. The first replica creates the tables.
    init(_ schema: StoreSchema) async throws {
        server = try await PostgresServer.shared
        name = try await server.createDatabase()
        self.schema = schema
        connection = try PostgresConnection(PostgresAddress(server.url(name)), service: schema.service)
    }

    var disk: StormDisk {
        StormDisk { [self] collection in
            let rows = try run(PostgresStatement("SELECT shard, key, value FROM \(collection.table)")) { $0.records }
            return Dictionary(
                uniqueKeysWithValues: rows.map { (StoreKey(shard: $0.shard, key: $0.key), $0.value) })
        }
    }

    /// Whether a shard's newest epoch is this one and no replica has given it up.
    func confirms(_ shard: Shard, _ epoch: Epoch) throws -> Bool {
        let statement = PostgresStatement(
            "SELECT epoch FROM lease WHERE shard = $1::int2 AND owner IS NOT NULL",
            PostgresValue.int2(Int16(shard.value)))
        return try run(statement) { $0.count == 1 && $0.integer(0, 0) == epoch.number }
    }

    /// The number of shards among these that a member owns.
    func ownedCount(of shards: Set<Shard>) throws -> Int {
        let statement = PostgresStatement(
            "SELECT shard FROM lease JOIN member ON id = owner WHERE shard = ANY ($1::int2[])",
            PostgresValue.int2s(shards.map(\.value)))
        return try run(statement) { $0.count }
    }

    /// Declares the owner of a shard dead, as others do when its time is over. It goes on until it finds out.
    func expelOwner(of shard: Shard) throws {
        let delete = PostgresStatement(
            "DELETE FROM member WHERE id = (SELECT owner FROM lease WHERE shard = $1::int2)",
            PostgresValue.int2(Int16(shard.value)))
        let notify = PostgresStatement("SELECT pg_notify($1, '')", PostgresValue.text(schema.service))
        _ = try run(delete) { $0.count }
        _ = try run(notify) { $0.count }
    }

    private func run<Value: Sendable>(
        _ statement: PostgresStatement, _ read: (PostgresResult) -> Value
    ) throws -> Value {
        try lock.withLock { _ in read(try connection.run(statement, until: .now + .seconds(120))) }
    }
}
