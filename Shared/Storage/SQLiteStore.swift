import Foundation
import GRDB
import Synchronization
package import Workouts

/// A store in one SQLite file: write-ahead log, `synchronous=FULL`, one process at a time, readable by its owner alone.
///
/// A commit copies the log into the file every thousand pages. A failed checkpoint fails no commit; a later one repeats it.
///
/// Deleted and replaced records leave no bytes: SQLite overwrites them in the file with zeros, and the log is emptied every
/// 20 s. Another process that reads the file, such as a backup, delays the latter.
package final class SQLiteStore: Store {
    /// How long, in seconds, a commit waits for another process that reads or copies the file.
    private static let busyTimeout = 5.0

    package let ownership: AsyncStream<OwnershipChange>
    let database: DatabasePool
    private let erasure: Task<Void, Never>
    private let lock: Mutex<FileLock?>

    /// Opens or creates the store, and owns all of `shards` from then on.
    ///
    /// - Parameter erasureInterval: the time between two checkpoints that empty the log.
    package init(
        path: String, schema: StoreSchema, shards: Set<Shard>, erasureInterval: Duration = .seconds(20)
    ) throws(StoreError) {
        // An empty store in a mistyped folder would look like a start without data.
        let folder = URL(filePath: path).deletingLastPathComponent().path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw .missingFolder(folder)
        }
        lock = Mutex(try FileLock(path: path))
        try createFile(path)
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA secure_delete = ON") }
        let epoch: Epoch
        do {
            database = try DatabasePool(path: path, configuration: configuration)
            // GRDB sets NORMAL when it turns on the write-ahead log, so this comes after it.
            try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            epoch = try database.write { try Self.prepare($0, path: path, schema: schema) }
            try database.writeWithoutTransaction { try Self.eraseOnce($0) }
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(opening: path, error)
        }
        erasure = Self.erase(database, every: erasureInterval)
        let (stream, continuation) = AsyncStream.makeStream(of: OwnershipChange.self)
        continuation.yield(.gained(Dictionary(uniqueKeysWithValues: shards.map { ($0, epoch) })))
        continuation.finish()
        ownership = stream
    }

    deinit {
        erasure.cancel()
    }

    /// Does nothing: this store never releases a shard.
    package func released(_ shards: Set<Shard>) async {}

    package func close() async {
        erasure.cancel()
        await erasure.value
        // The lock outlives the database: a file that another process may open has no writer left.
        try? database.close()
        lock.withLock { $0 = nil }
    }

    /// Rewrites a file once that was written before deleted records were overwritten.
    private static func eraseOnce(_ database: Database) throws {
        guard try Int.fetchOne(database, sql: "PRAGMA user_version") == 0 else { return }
        // A full disk has no room for the copy; the next start tries again.
        guard (try? database.execute(sql: "VACUUM")) != nil else { return }
        try? database.execute(sql: "PRAGMA user_version = 1")
    }

    /// Empties the log at an interval. A task of its own, because the last commit may be long ago.
    private static func erase(_ database: DatabasePool, every interval: Duration) -> Task<Void, Never> {
        Task {
            while (try? await Task.sleep(for: interval)) != nil {
                try? await database.writeWithoutTransaction { database in
                    // Commits wait for this, so it waits for no reader; the next one tries again.
                    try database.execute(sql: "PRAGMA busy_timeout = 0")
                    defer { try? database.execute(sql: "PRAGMA busy_timeout = \(Int(busyTimeout * 1_000))") }
                    try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
                }
            }
        }
    }

    private static func prepare(_ database: Database, path: String, schema: StoreSchema) throws -> Epoch {
        if try !database.tableExists("store") {
            let isEmpty = try Row.fetchOne(database, sql: "SELECT 1 FROM sqlite_master") == nil
            guard isEmpty else { throw StoreError.foreign(path: path, service: "another program") }
            try database.execute(
                sql: "CREATE TABLE store (service TEXT NOT NULL, version INTEGER NOT NULL, epoch INTEGER NOT NULL)")
        }
        let row = try Row.fetchOne(database, sql: "SELECT service, version, epoch FROM store")
        let service: String = row?["service"] ?? schema.service
        let version: Int = row?["version"] ?? 0
        let epoch: Int64 = (row?["epoch"] ?? 0) + 1
        guard service == schema.service else { throw StoreError.foreign(path: path, service: service) }
        guard version <= schema.version else {
            throw StoreError.newer(path: path, version: version, supported: schema.version)
        }
        for collection in schema.steps[version...].joined() {
            try database.execute(
                sql: """
                    CREATE TABLE \(collection.table) (
                        shard INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (shard, key)
                    ) WITHOUT ROWID
                    """)
        }
        // An empty store derives nothing, whatever its version.
        for derivation in schema.derivations where derivation.version > version {
            try derivation.run(on: database)
        }
        try database.execute(sql: "DELETE FROM store")
        try database.execute(
            sql: "INSERT INTO store (service, version, epoch) VALUES (?, ?, ?)",
            arguments: [schema.service, schema.version, epoch])
        return Epoch(epoch)
    }

    package func commit(_ writes: [StoreWrite]) async throws(StoreError) -> CommitReport {
        do {
            return try await database.write { database in
                let epoch = try Int64.fetchOne(database.cachedStatement(sql: "SELECT epoch FROM store"))
                var report = CommitReport()
                for write in writes {
                    guard write.epoch.number == epoch else {
                        report.lostShards.insert(write.shard)
                        continue
                    }
                    try write.apply(to: database)
                }
                return report
            }
        } catch {
            throw .notWritable("\(error)")
        }
    }

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

/// Creates an empty file that its owner alone can read; SQLite gives the files beside it the same mode.
private func createFile(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
        close(descriptor)
    } else if errno != EEXIST {
        throw .notWritable("\(path): \(String(cString: strerror(errno)))")
    }
}

extension StoreCollection {
    fileprivate var table: String { "\"collection_\(name)\"" }
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
    fileprivate func run(on database: Database) throws {
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
    fileprivate func apply(to database: Database) throws { try change.apply(to: database, shard, collection) }
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

extension StoreError {
    fileprivate init(opening path: String, _ error: any Error) {
        guard let error = error as? DatabaseError else {
            self = .notReadable("\(path): \(error)")
            return
        }
        let text = "\(path): \(error.message ?? error.resultCode.description)"
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_CANTOPEN, .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY: self = .notWritable(text)
        default: self = .notReadable(text)
        }
    }
}

/// A lock on a file named `<path>.lock`, held until deinit; the system releases it when the process dies.
final class FileLock: Sendable {
    private let descriptor: Int32

    init(path: String) throws(StoreError) {
        let lockPath = path + ".lock"
        descriptor = open(lockPath, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .notWritable("\(lockPath): \(String(cString: strerror(errno)))") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            throw code == EWOULDBLOCK
                ? .inUse(path: path) : .notWritable("\(lockPath): \(String(cString: strerror(code)))")
        }
    }

    deinit {
        // Closing alone is not enough: a child that was just forked has the descriptor too, until it runs its program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
