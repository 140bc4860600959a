import Dispatch
import Foundation
package import Workouts

/// A store in PostgreSQL 15 or later, shared by the replicas of a service. Each has a writer, a reader and a lease connection,
/// on threads of their own.
///
/// A commit is durable when it returns: each connection sets `synchronous_commit` to `on`. If the connection is lost within a
/// commit, the store finds out whether the commit is durable, or gives up all shards after 4 s: a commit may then be durable
/// and reported as lost, and the shards' next owner reads it.
///
/// Deleted records stay in the server's files and log until it vacuums and recycles them.
package final class PostgresStore: Store {
    package var ownership: AsyncStream<OwnershipChange> { replica.ownership }

    private let replica: PostgresReplica
    private let writes = PostgresJobs<PostgresWriter.Job>()
    private let reads = PostgresJobs<@Sendable (PostgresReader) -> Void>()
    private let leases = PostgresJobs<Void>()
    private let watch = PostgresJobs<Void>()
    private let threads = DispatchGroup()

    /// Connects, creates or migrates the service's schema, and claims shards. Blocks for as long as that takes.
    ///
    /// - Parameter lease: how long after a replica's last sign others wait until they take its shards; the same for all.
    package init(
        _ address: PostgresAddress, schema: StoreSchema, plan: OwnershipPlan, lease: Duration = .seconds(5)
    ) throws(StoreError) {
        replica = PostgresReplica(address, schema, plan, lease: lease)
        let sharing = PostgresLeases(replica, leases)
        let writer = PostgresWriter(replica, writes)
        let reader = PostgresReader(replica, reads)
        start("watch") { [replica, watch] in replica.watch(watch) }
        start("writer") { [writer = Confined(writer)] in writer.value.run() }
        do {
            try sharing.open()
        } catch {
            shutDown()
            throw error
        }
        start("leases") { [sharing = Confined(sharing)] in sharing.value.run() }
        start("reader") { [reader = Confined(reader)] in reader.value.run() }
    }

    deinit {
        shutDown()
    }

    private func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        threads.enter()
        let thread = Thread { [threads] in
            body()
            threads.leave()
        }
        thread.name = "store \(name)"
        thread.start()
    }

    private func shutDown() {
        writes.close()
        reads.close()
        leases.close()
        watch.close()
    }

    /// Whether the database counts this replica as one that may own shards, as far as it has confirmed that in time.
    package var isMember: Bool { replica.withMembership { membership, _ in membership.member != nil } }

    package func released(_ shards: Set<Shard>) async {
        replica.withMembership { membership, _ in membership.released(shards) }
        // The thread finds them in the database and not in memory.
        _ = leases.add(())
    }

    package func owns(_ shard: Shard, under epoch: Epoch) -> Bool {
        // A process that hung may ask before the watch has noticed.
        replica.expire()
        return replica.withMembership { membership, _ in membership.owns(shard, under: epoch) }
    }

    /// Releases all shards, so that other replicas take them at once.
    package func close() async {
        shutDown()
        await withCheckedContinuation { continuation in
            threads.notify(queue: .global()) { continuation.resume() }
        }
    }

    package func commit(
        _ writes: [StoreWrite], trim: JournalTrim?, mayUseReserve: Bool
    ) async throws(StoreError) -> CommitReport {
        let result: Result<CommitReport, StoreError> = await withCheckedContinuation { continuation in
            let job = PostgresWriter.Job(writes: writes, trim: trim) { continuation.resume(returning: $0) }
            if !self.writes.add(job) { continuation.resume(returning: .failure(.notWritable("the store is closed"))) }
        }
        return try result.get()
    }

    // MARK: Reading

    package func records(
        in collection: StoreCollection, shards: Set<Shard>
    ) async throws(StoreError) -> [StoreRecord] {
        try await readRecords(
            "SELECT shard, key, value FROM \(collection.table) WHERE shard = ANY ($1::int2[]) ORDER BY shard, key",
            PostgresValue.int2s(shards.map(\.value).sorted()))
    }

    package func records(
        in collection: StoreCollection, at keys: [StoreKey]
    ) async throws(StoreError) -> [StoreRecord] {
        try await readRecords(
            """
            SELECT c.shard, c.key, c.value
            FROM unnest($1::int2[], $2::text[]) WITH ORDINALITY AS k (shard, key, number)
            JOIN \(collection.table) AS c ON c.shard = k.shard AND c.key = k.key COLLATE "C" ORDER BY k.number
            """,
            PostgresValue.int2s(keys.map(\.shard.value)), PostgresValue.texts(keys.map(\.key)))
    }

    package func records(
        in collection: StoreCollection, below folders: [StoreFolder]
    ) async throws(StoreError) -> [StoreRecord] {
        let ranges = folders.map { StoreRange($0).keys }
        return try await readRecords(
            """
            SELECT c.shard, c.key, c.value
            FROM unnest($1::int2[], $2::text[], $3::text[]) WITH ORDINALITY AS f (shard, lower, upper, number)
            JOIN \(collection.table) AS c
                ON c.shard = f.shard AND c.key >= f.lower COLLATE "C" AND c.key < f.upper COLLATE "C"
            ORDER BY f.number, c.key
            """,
            PostgresValue.int2s(folders.map(\.shard.value)), PostgresValue.texts(ranges.map(\.lowerBound)),
            PostgresValue.texts(ranges.map(\.upperBound)))
    }

    package func records(
        in collection: StoreCollection, of ranges: [StoreRange], limit: Int
    ) async throws(StoreError) -> [StoreRecord] {
        let order = ranges.first?.isDescending ?? false ? "DESC" : "ASC"
        return try await readRecords(
            """
            SELECT c.shard, c.key, c.value
            FROM unnest($1::int2[], $2::text[], $3::text[]) WITH ORDINALITY AS f (shard, lower, upper, number)
            CROSS JOIN LATERAL (
                SELECT shard, key, value FROM \(collection.table)
                WHERE shard = f.shard AND key >= f.lower COLLATE "C" AND key < f.upper COLLATE "C"
                ORDER BY key \(order) LIMIT $4
            ) AS c
            ORDER BY f.number, c.key \(order)
            """,
            PostgresValue.int2s(ranges.map(\.shard.value)), PostgresValue.texts(ranges.map(\.keys.lowerBound)),
            PostgresValue.texts(ranges.map(\.keys.upperBound)), PostgresValue.int8(Int64(limit)))
    }

    package func journal(of shards: Set<Shard>) async throws(StoreError) -> JournalTail {
        let statement = PostgresStatement(
            // A shard may return to a member with a lower number. The order of the commits is that of the rows.
            "SELECT shards, bytes FROM journal WHERE shards && $1::int2[] ORDER BY number",
            PostgresValue.int2s(shards.map(\.value).sorted()))
        return try await readResult(statement) { result in
            var reader = JournalReader()
            for row in 0..<result.count {
                // Of other shards the entries are in records already.
                reader.read(result.bytes(row, 1), of: shards.intersection(result.shards(row, 0)))
            }
            return reader.tail
        }
    }

    private func readRecords(_ sql: String, _ parameters: [UInt8]...) async throws(StoreError) -> [StoreRecord] {
        try await readResult(PostgresStatement(sql, parameters)) { $0.records }
    }

    private func readResult<Value: Sendable>(
        _ statement: PostgresStatement, _ body: @escaping @Sendable (PostgresResult) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let isOpen = reads.add { reader in continuation.resume(returning: reader.read(statement, body)) }
            if !isOpen { continuation.resume(returning: .failure(.notReadable("the store is closed"))) }
        }
        return try result.get()
    }
}

/// A value that one thread uses after another has made it, and never both at a time.
private struct Confined<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
