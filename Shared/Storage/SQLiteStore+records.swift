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
        in collection: StoreCollection, of range: StoreRange, limit: Int
    ) async throws(StoreError) -> [StoreRecord] {
        try await read { database in
            let statement = try database.cachedStatement(
                sql: """
                    SELECT shard, key, value FROM \(collection.table) WHERE shard = ? AND key >= ? AND key < ?
                    ORDER BY key \(range.isDescending ? "DESC" : "ASC") LIMIT ?
                    """)
            return try StoreRecord.all(
                statement, arguments: [range.shard.value, range.keys.lowerBound, range.keys.upperBound, limit])
        }
    }

    private func read(_ body: @Sendable @escaping (Database) throws -> [StoreRecord]) async throws(StoreError)
        -> [StoreRecord]
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
}

extension StoreRecord {
    fileprivate static func all(_ statement: Statement, arguments: StatementArguments) throws -> [StoreRecord] {
        try Row.fetchCursor(statement, arguments: arguments).map(StoreRecord.init)
            .reduce(into: []) { $0.append($1) }
    }

    fileprivate init(_ row: Row) throws {
        let value = try row.withUnsafeData(atIndex: 2) { [UInt8]($0 ?? Data()) }
        self.init(shard: Shard(row[0]), key: row[1], value: value)
    }
}

extension StoreSchema.Derivation {
    /// Reads record after record, because a collection may be larger than the memory.
    func run(on database: Database) throws {
        let records = try Row.fetchCursor(database, sql: "SELECT shard, key, value FROM \(source.table)")
        while let row = try records.next() {
            let record = try StoreRecord(row)
            guard let derived = derive(record) else { continue }
            try StoreWrite.Change.put(key: derived.key, value: derived.value)
                .apply(to: database, record.shard, target)
        }
    }
}

extension StoreWrite {
    func apply(to database: Database) throws { try change.apply(to: database, shard, collection) }
}

extension StoreWrite.Change {
    fileprivate func apply(to database: Database, _ shard: Shard, _ collection: StoreCollection) throws {
        switch self {
        case .put(let key, let value):
            let statement = try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO \(collection.table) (shard, key, value) VALUES (?, ?, ?)")
            try statement.execute(arguments: [shard.value, key, Data(value)])
        case .delete(let key):
            let statement = try database.cachedStatement(
                sql: "DELETE FROM \(collection.table) WHERE shard = ? AND key = ?")
            try statement.execute(arguments: [shard.value, key])
        case .deleteFolder(let path):
            let keys = StoreRange(StoreFolder(shard: shard, path: path)).keys
            let statement = try database.cachedStatement(
                sql: "DELETE FROM \(collection.table) WHERE shard = ? AND key >= ? AND key < ?")
            try statement.execute(arguments: [shard.value, keys.lowerBound, keys.upperBound])
        }
    }
}
