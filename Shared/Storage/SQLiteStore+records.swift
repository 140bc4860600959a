import Foundation
import GRDB
package import Workouts

/// Reading records. A `StoreRecord` is a row of its collection's table.
extension SQLiteStore {
    package func records(
        in collection: StoreCollection, shards: Set<Shard>
    ) async throws(StoreError) -> [StoreRecord] {
        try await read { database in
            let statement = try database.cachedStatement(
                sql: "SELECT shard, key, value FROM \(collection.table) WHERE shard = ? ORDER BY key")
            return try shards.sorted().flatMap { shard in
                try StoreRecord.all(statement, arguments: [shard.value])
            }
        }
    }

    package func records(
        in collection: StoreCollection, at keys: [StoreKey]
    ) async throws(StoreError) -> [StoreRecord] {
        try await read { database in
            let statement = try database.cachedStatement(
                sql: "SELECT shard, key, value FROM \(collection.table) WHERE shard = ? AND key = ?")
            return try keys.flatMap { try StoreRecord.all(statement, arguments: [$0.shard.value, $0.key]) }
        }
    }

    package func records(
        in collection: StoreCollection, below folders: [StoreFolder]
    ) async throws(StoreError) -> [StoreRecord] {
        try await read { database in
            // "0" follows "/" in ASCII, so the range holds what begins with the path and a slash.
            let statement = try database.cachedStatement(
                sql: """
                    SELECT shard, key, value FROM \(collection.table)
                    WHERE shard = ? AND key > ? || '/' AND key < ? || '0' ORDER BY key
                    """)
            return try folders.flatMap { folder in
                try StoreRecord.all(statement, arguments: [folder.shard.value, folder.path, folder.path])
            }
        }
    }

    package func records(
        in collection: StoreCollection, of ranges: [StoreRange], limit: Int
    ) async throws(StoreError) -> [StoreRecord] {
        try await read { database in
            let isDescending = ranges.first?.isDescending ?? false
            let statement = try database.cachedStatement(
                sql: """
                    SELECT shard, key, value FROM \(collection.table) WHERE shard = ? AND key >= ? AND key < ?
                    ORDER BY key \(isDescending ? "DESC" : "ASC") LIMIT ?
                    """)
            return try ranges.flatMap { range in
                try StoreRecord.all(
                    statement, arguments: [range.shard.value, range.keys.lowerBound, range.keys.upperBound, limit])
            }
        }
    }

    func read<Result: Sendable>(_ body: @Sendable @escaping (Database) throws -> Result) async throws(StoreError)
        -> Result
    {
        do {
            return try await database.read(body)
        } catch {
            throw .notReadable("\(error)")
        }
    }
}

extension StoreCollection {
    var table: String { "\"collection_\(name)\"" }

    fileprivate func put(_ shard: Shard, _ key: String, _ value: [UInt8], _ database: Database) throws {
        let statement = try database.cachedStatement(
            // A replacement would write the index too.
            sql: """
                INSERT INTO \(table) (shard, key, value) VALUES (?, ?, ?)
                ON CONFLICT (shard, key) DO UPDATE SET value = excluded.value
                """)
        try statement.execute(arguments: [shard.value, key, Data(value)])
    }
}

extension StoreRecord {
    fileprivate static func all(_ statement: Statement, arguments: StatementArguments) throws -> [StoreRecord] {
        try Row.fetchCursor(statement, arguments: arguments).map(StoreRecord.init)
            .reduce(into: []) { $0.append($1) }
    }

    init(_ row: Row) throws {
        let value = try row.withUnsafeData(atIndex: 2) { [UInt8]($0 ?? Data()) }
        self.init(shard: Shard(row[0]), key: row[1], value: value)
    }
}

extension StoreWrite {
    /// Applies the change to its collection, or adds it to the `appends` of the commit.
    func apply(to database: Database, appends: inout [JournalRecord.Append]) throws {
        switch change {
        case .put(let key, let value):
            try collection.put(shard, key, value, database)
        case .delete(let key):
            let statement = try database.cachedStatement(
                sql: "DELETE FROM \(collection.table) WHERE shard = ? AND key = ?")
            try statement.execute(arguments: [shard.value, key])
        case .deleteFolder(let path):
            let keys = StoreRange(StoreFolder(shard: shard, path: path)).keys
            let statement = try database.cachedStatement(
                sql: "DELETE FROM \(collection.table) WHERE shard = ? AND key >= ? AND key < ?")
            try statement.execute(arguments: [shard.value, keys.lowerBound, keys.upperBound])
        case .append(let stream, let first, let items):
            let entry = JournalEntry(shard: shard, stream: stream, first: first, items: items)
            appends.append(JournalRecord.Append(epoch: epoch, entry: entry))
        }
    }
}
