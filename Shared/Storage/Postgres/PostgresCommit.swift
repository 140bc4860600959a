import Workouts

/// The statements of a commit, from its writes: each record's last state alone, because an upsert takes a key once.
struct PostgresCommit {
    /// The most bytes of keys and values.
    static let limit = 16 << 20

    private struct Collection {
        var folders: [StoreFolder] = []
        /// The value of each record; `nil` for one to delete.
        var records: [StoreKey: [UInt8]?] = [:]
    }

    private(set) var report = CommitReport()
    private(set) var byteCount = 0
    /// The shards whose journal the commit removes.
    private(set) var trimmed: Set<Shard> = []
    private var collections: [StoreCollection: Collection] = [:]
    private var appends: [JournalRecord.Append] = []
    private var trims: [PostgresStatement] = []

    /// Takes the writes whose shards the member owns under their epochs, and reports the others.
    init(_ writes: [StoreWrite], trim: JournalTrim?, _ membership: PostgresMembership) {
        for write in writes {
            guard membership.leases[write.shard]?.epoch == write.epoch else {
                report.lostShards.insert(write.shard)
                continue
            }
            apply(write)
        }
        if let trim { apply(trim, membership) }
    }

    var isEmpty: Bool { collections.isEmpty && appends.isEmpty && trims.isEmpty }

    private mutating func apply(_ write: StoreWrite) {
        switch write.change {
        case .put(let key, let value):
            byteCount += key.utf8.count + value.count
            collections[write.collection, default: Collection()]
                .records[StoreKey(shard: write.shard, key: key)] = .some(value)
        case .delete(let key):
            byteCount += key.utf8.count
            collections[write.collection, default: Collection()]
                .records[StoreKey(shard: write.shard, key: key)] = .some(nil)
        case .deleteFolder(let path):
            byteCount += path.utf8.count
            var collection = collections.removeValue(forKey: write.collection) ?? Collection()
            let prefix = path + "/"
            collection.records = collection.records.filter {
                !($0.key.shard == write.shard && $0.key.key.hasPrefix(prefix))
            }
            collection.folders.append(StoreFolder(shard: write.shard, path: path))
            collections[write.collection] = collection
        case .append(let stream, let first, let items):
            byteCount += stream.utf8.count + items.count
            let entry = JournalEntry(shard: write.shard, stream: stream, first: first, items: items)
            appends.append(JournalRecord.Append(epoch: write.epoch, entry: entry))
        }
    }

    private mutating func apply(_ trim: JournalTrim, _ membership: PostgresMembership) {
        switch trim {
        case .own(let through):
            guard let member = membership.member else { return }
            let shards = membership.leases.filter { !$0.value.isRegained }.keys
            trims.append(
                PostgresStatement(
                    "DELETE FROM journal WHERE incarnation = $1 AND sequence <= $2 AND shards <@ $3::int2[]",
                    PostgresValue.int8(member), PostgresValue.int8(through), PostgresValue.int2s(shards.map(\.value))))
        case .shards(let shards):
            let owned = Set(shards.filter { membership.leases[$0.key]?.epoch == $0.value }.keys)
                .subtracting(report.lostShards)
            guard !owned.isEmpty else { return }
            trimmed = owned
            let parameter = PostgresValue.int2s(owned.map(\.value))
            // The entries stay in the record; without its shard an entry is not read.
            trims.append(
                PostgresStatement(
                    """
                    WITH part AS (
                        SELECT incarnation, sequence FROM journal WHERE shards && $1::int2[]
                        ORDER BY incarnation, sequence FOR UPDATE
                    )
                    UPDATE journal SET shards = ARRAY(SELECT s FROM unnest(shards) s WHERE s <> ALL ($1::int2[]))
                    FROM part WHERE journal.incarnation = part.incarnation AND journal.sequence = part.sequence
                    """, parameter))
            trims.append(PostgresStatement("DELETE FROM journal WHERE shards = '{}'"))
        }
    }

    /// The statements, and the report of a commit that succeeds. Trims come before the records that this commit appends.
    mutating func statements(member: Int64, sequence: inout Int64) -> [PostgresStatement] {
        var statements = trims
        for (collection, content) in collections.sorted(by: { $0.key.name < $1.key.name }) {
            statements += content.folders.map { Self.delete($0, collection) }
            let sorted = content.records.sorted { $0.key < $1.key }
            statements += Self.upsert(sorted.compactMap { key, value in value.map { (key, $0) } }, collection)
            statements += Self.delete(sorted.filter { $0.value == nil }.map(\.key), collection)
        }
        for record in JournalRecord.encode(appends) {
            sequence += 1
            report.journaled = JournalPosition(incarnation: member, sequence: sequence)
            statements.append(
                PostgresStatement(
                    "INSERT INTO journal (incarnation, sequence, shards, bytes) VALUES ($1, $2, $3::int2[], $4)",
                    PostgresValue.int8(member), PostgresValue.int8(sequence),
                    PostgresValue.int2s(record.shards.map(\.value).sorted()), record.bytes))
        }
        return statements
    }

    private static func upsert(_ records: [(StoreKey, [UInt8])], _ collection: StoreCollection) -> [PostgresStatement] {
        guard !records.isEmpty else { return [] }
        return [
            PostgresStatement(
                """
                INSERT INTO \(collection.table) (shard, key, value)
                SELECT * FROM unnest($1::int2[], $2::text[], $3::bytea[])
                ON CONFLICT (shard, key) DO UPDATE SET value = excluded.value
                """,
                PostgresValue.int2s(records.map(\.0.shard.value)), PostgresValue.texts(records.map(\.0.key)),
                PostgresValue.byteas(records.map(\.1)))
        ]
    }

    private static func delete(_ keys: [StoreKey], _ collection: StoreCollection) -> [PostgresStatement] {
        guard !keys.isEmpty else { return [] }
        return [
            PostgresStatement(
                """
                DELETE FROM \(collection.table) AS c USING unnest($1::int2[], $2::text[]) AS d (shard, key)
                WHERE c.shard = d.shard AND c.key = d.key COLLATE "C"
                """,
                PostgresValue.int2s(keys.map(\.shard.value)), PostgresValue.texts(keys.map(\.key)))
        ]
    }

    private static func delete(_ folder: StoreFolder, _ collection: StoreCollection) -> PostgresStatement {
        let keys = StoreRange(folder).keys
        return PostgresStatement(
            "DELETE FROM \(collection.table) WHERE shard = $1::int2 AND key >= $2 AND key < $3",
            PostgresValue.int2(Int16(folder.shard.value)), PostgresValue.text(keys.lowerBound),
            PostgresValue.text(keys.upperBound))
    }
}
