import Foundation
import GRDB
package import Workouts

/// Reads the store of a service that may run, for operators. It takes no lock, owns no shard and writes nothing.
package struct StoreReader {
    private enum Database {
        case sqlite(DatabaseQueue)
        case postgres(PostgresConnection)
    }

    private static let timeout = Duration.seconds(60)

    private let database: Database

    /// - Throws: ``StoreError/notReadable(_:)`` without the file.
    package init(path: String) throws(StoreError) {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        do {
            database = .sqlite(try DatabaseQueue(path: path, configuration: configuration))
        } catch {
            throw .notReadable("\(path): \(error)")
        }
    }

    /// - Parameter service: the service whose store in the database it is.
    package init(_ address: PostgresAddress, service: String) throws(StoreError) {
        do throws(PostgresFailure) {
            database = .postgres(try PostgresConnection(address, service: service))
        } catch {
            throw .notReadable("\(address): \(error.text)")
        }
    }

    /// The records of a folder: those whose key is its path or begins with it and a slash. None if a store of another version
    /// lacks the collection.
    package func records(
        in collection: StoreCollection, of folder: StoreFolder
    ) throws(StoreError) -> [StoreRecord] {
        // "/" and "0" follow one another in ASCII.
        let keys = StoreRange(folder).keys
        return try records(
            collection, "(key = {} OR key >= {} AND key < {})", folder.shard,
            [folder.path, keys.lowerBound, keys.upperBound])
    }

    /// The records of a shard, or of all, whose key ends with a slash and this name.
    package func records(
        in collection: StoreCollection, named name: String, shard: Shard? = nil
    ) throws(StoreError) -> [StoreRecord] {
        try records(collection, "key LIKE {}", shard, ["%/\(name)"])
    }

    /// - Parameter condition: has `{}` for each text.
    private func records(
        _ collection: StoreCollection, _ condition: String, _ shard: Shard?, _ texts: [String]
    ) throws(StoreError) -> [StoreRecord] {
        var sql = "SELECT shard, key, value FROM \(collection.table) WHERE \(condition)"
        if let shard { sql += " AND shard = \(shard.value)" }
        sql += " ORDER BY key"
        switch database {
        case .sqlite(let database):
            do {
                return try database.read { database in
                    guard try database.tableExists("collection_\(collection.name)") else { return [] }
                    return try Row.fetchAll(
                        database, sql: sql.replacing("{}", with: "?"), arguments: StatementArguments(texts)
                    ).map(StoreRecord.init)
                }
            } catch {
                throw .notReadable("\(error)")
            }
        case .postgres(let connection):
            var numbered = sql
            for number in 1...texts.count {
                numbered = numbered.replacing("{}", with: "$\(number)::text COLLATE \"C\"", maxReplacements: 1)
            }
            do throws(PostgresFailure) {
                return try connection.run(
                    PostgresStatement(numbered, texts.map(PostgresValue.text)), until: .now + Self.timeout
                ).records
            } catch {
                // Without the table there is no record.
                if case .refused(state: "42P01", _) = error { return [] }
                throw .notReadable(error.text)
            }
        }
    }
}
