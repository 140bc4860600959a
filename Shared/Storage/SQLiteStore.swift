import Foundation
import GRDB
import Synchronization
package import Workouts

/// A store in one SQLite file: write-ahead log, `synchronous=FULL`, one process at a time, readable by its owner alone.
///
/// A commit copies the log into the file every thousand pages. A failed checkpoint fails no commit; a later one repeats it.
///
/// Deleted and replaced records and trimmed journal entries leave no bytes: SQLite overwrites them in the file with zeros, and
/// the log is emptied every 20 s. Another process that reads the file, such as a backup, delays the latter.
///
/// A store with a journal keeps 32 MiB of the disk in reserve, in the file `<path>.reserve`. Without the reserve it takes no
/// commits but those that may use it.
///
/// A commit fails if the file, its log or its lock was removed or replaced since it was opened. A store that is gone at a later start
/// is not replaced by an empty one: that would acknowledge items again and publish empty workouts.
package final class SQLiteStore: Store {
    /// How long, in seconds, a commit waits for another process that reads or copies the file.
    private static let busyTimeout = 5.0

    package let ownership: AsyncStream<OwnershipChange>
    let database: DatabasePool
    private let erasure: Task<Void, Never>
    private let lock: Mutex<FileLock?>
    private let reserve: Reserve?
    private let files: OpenedFiles
    /// The number of the last journal record of earlier processes.
    let inheritedSequence: Int64
    /// The number of the last journal record, also of a commit that failed.
    let sequence: Atomic<Int64>

    /// Opens or creates the store, and owns all of `shards` from then on.
    ///
    /// - Parameters:
    ///   - erasureInterval: the time between two checkpoints that empty the log.
    ///   - reserveSize: the bytes in reserve, if the store has a journal.
    package init(
        path: String, schema: StoreSchema, shards: Set<Shard>, erasureInterval: Duration = .seconds(20),
        reserveSize: Int = 64 << 20
    ) throws(StoreError) {
        // An empty store in a mistyped folder would look like a start without data.
        let folder = URL(filePath: path).deletingLastPathComponent().path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw .missingFolder(folder)
        }
        let lock = try FileLock(path: path)
        guard !lock.knowsStore || FileManager.default.fileExists(atPath: path) else { throw .missing(path: path) }
        self.lock = Mutex(lock)
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
            inheritedSequence = schema.hasJournal ? try database.read(Self.lastSequence) : 0
            sequence = Atomic(inheritedSequence)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(opening: path, error)
        }
        lock.noteStore()
        files = OpenedFiles([path, path + "-wal", path + ".lock"])
        reserve = schema.hasJournal ? Reserve(store: path, size: reserveSize) : nil
        // On a full disk the store opens for deletions.
        try? reserve?.allocate()
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

    package func owns(_ shard: Shard, under epoch: Epoch) -> Bool { true }

    package func verify() throws(StoreError) { try files.verify() }

    package func close() async {
        erasure.cancel()
        await erasure.value
        // The lock outlives the database: a file that another process may open has no writer left.
        try? database.close()
        lock.withLock { $0 = nil }
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
        // Without row numbers, a write takes two to three times as long.
        for collection in schema.steps[version...].joined() {
            guard collection != .journal else {
                try createJournal(database)
                continue
            }
            try database.execute(
                sql: """
                    CREATE TABLE \(collection.table) (
                        shard INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (shard, key)
                    )
                    """)
        }
        try database.execute(sql: "DELETE FROM store")
        try database.execute(
            sql: "INSERT INTO store (service, version, epoch) VALUES (?, ?, ?)",
            arguments: [schema.service, schema.version, epoch])
        return Epoch(epoch)
    }

    package func commit(
        _ writes: [StoreWrite], trim: JournalTrim?, mayUseReserve: Bool
    ) async throws(StoreError) -> CommitReport {
        if !mayUseReserve { try reserve?.allocate() }
        do {
            let report: CommitReport
            do {
                report = try await apply(writes, trim)
            } catch let error as DatabaseError where mayUseReserve && error.isFullDisk && reserve?.release() == true {
                report = try await apply(writes, trim)
            }
            try files.verify()
            return report
        } catch let error as StoreError {
            throw error
        } catch {
            throw .notWritable("\(error)")
        }
    }

    private func apply(_ writes: [StoreWrite], _ trim: JournalTrim?) async throws -> CommitReport {
        try await database.write { [self] database in
            let epoch = try Int64.fetchOne(database.cachedStatement(sql: "SELECT epoch FROM store")) ?? 0
            let owned = writes.filter { $0.epoch.number == epoch }
            var report = CommitReport()
            if owned.count < writes.count {
                report.lostShards = Set(writes.filter { $0.epoch.number != epoch }.map(\.shard))
            }
            // First, because the new record then takes the pages that this frees, and they are written once.
            if let trim { try self.trim(trim, except: report.lostShards, epoch, database) }
            var appends: [JournalRecord.Append] = []
            for write in owned { try write.apply(to: database, appends: &appends) }
            if !appends.isEmpty { report.journaled = try append(appends, epoch, database) }
            return report
        }
    }
}

extension DatabaseError {
    /// A full disk. SQLite reports some of these as failed input or output.
    fileprivate var isFullDisk: Bool { resultCode == .SQLITE_FULL || resultCode == .SQLITE_IOERR }
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
