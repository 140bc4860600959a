import Foundation
import GRDB
import Synchronization
package import Workouts

/// The journal: a row for each record, numbered by its sequence. The process's number is the epoch; its rows follow those of
/// earlier processes.
extension SQLiteStore {
    static func createJournal(_ database: Database) throws {
        try database.execute(
            sql: "CREATE TABLE journal (sequence INTEGER PRIMARY KEY, shards BLOB NOT NULL, bytes BLOB NOT NULL)")
    }

    /// The last number in use.
    static func lastSequence(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT max(sequence) FROM journal") ?? 0
    }

    /// Adds the records of a commit and returns the last one's position.
    func append(_ appends: [JournalRecord.Append], _ incarnation: Int64, _ database: Database) throws
        -> JournalPosition?
    {
        let statement = try database.cachedStatement(
            sql: "INSERT INTO journal (sequence, shards, bytes) VALUES (?, ?, ?)")
        var last: JournalPosition?
        for record in JournalRecord.encode(appends) {
            let position = JournalPosition(
                incarnation: incarnation, sequence: sequence.add(1, ordering: .relaxed).newValue)
            try statement.execute(arguments: [
                position.sequence, ShardSet(record.shards).bytes, Data(record.bytes),
            ])
            last = position
        }
        return last
    }

    /// Removes what a trim covers, before the commit appends its own record.
    func trim(_ trim: JournalTrim, except lost: Set<Shard>, _ epoch: Int64, _ database: Database) throws {
        switch trim {
        case .own(let through):
            let statement = try database.cachedStatement(
                sql: "DELETE FROM journal WHERE sequence > ? AND sequence <= ?")
            try statement.execute(arguments: [inheritedSequence, through])
        case .shards(let shards):
            let owned = Set(shards.filter { $0.value.number == epoch }.keys)
            try Self.trim(owned.subtracting(lost), database)
        }
    }

    /// Deletes the records of some shards and rewrites those that have others too.
    private static func trim(_ shards: Set<Shard>, _ database: Database) throws {
        for row in try Row.fetchAll(database, sql: "SELECT sequence, shards FROM journal") {
            let sequence: Int64 = row[0]
            let present = ShardSet(row[1] as Data).shards
            let kept = present.subtracting(shards)
            if kept.isEmpty {
                try database.execute(sql: "DELETE FROM journal WHERE sequence = ?", arguments: [sequence])
            } else if kept.count < present.count {
                let bytes = try Data.fetchOne(
                    database, sql: "SELECT bytes FROM journal WHERE sequence = ?", arguments: [sequence])
                try database.execute(
                    sql: "UPDATE journal SET shards = ?, bytes = ? WHERE sequence = ?",
                    arguments: [ShardSet(kept).bytes, (bytes ?? Data()).without(shards), sequence])
            }
        }
    }

    package func journal(of shards: Set<Shard>) async throws(StoreError) -> JournalTail {
        try await read { database in
            var reader = JournalReader()
            let rows = try Row.fetchCursor(database, sql: "SELECT shards, bytes FROM journal ORDER BY sequence")
            while let row = try rows.next() {
                let present = try row.withUnsafeData(atIndex: 0) { ShardSet($0 ?? Data()) }
                guard present.intersects(shards) else { continue }
                try row.withUnsafeData(atIndex: 1) { bytes in
                    (bytes ?? Data()).withUnsafeBytes { reader.read($0, of: shards) }
                }
            }
            return reader.tail
        }
    }
}

extension Data {
    /// A journal record without some shards. A damaged one stays as it is, so that it is counted until its last shard is trimmed.
    fileprivate func without(_ shards: Set<Shard>) -> Data {
        withUnsafeBytes { bytes in JournalRecord(bytes)?.without(shards, bytes).map { Data($0) } } ?? self
    }
}

/// A set of shards as 32 bytes, a bit for each.
private struct ShardSet {
    let bytes: Data

    init(_ bytes: Data) {
        self.bytes = bytes
    }

    init(_ shards: Set<Shard>) {
        var bytes = Data(count: 32)
        for shard in shards { bytes[Int(shard.value >> 3)] |= 1 << (shard.value & 7) }
        self.bytes = bytes
    }

    private func contains(_ shard: Shard) -> Bool {
        let index = bytes.startIndex + Int(shard.value >> 3)
        return index < bytes.endIndex && bytes[index] >> (shard.value & 7) & 1 == 1
    }

    var shards: Set<Shard> { Set(Shard.all.filter(contains)) }

    func intersects(_ shards: Set<Shard>) -> Bool { shards.contains(where: contains) }
}
