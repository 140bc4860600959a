extension StoreSchema {
    /// The name of the service's schema and channel, quoted.
    var channel: String { "\"\(service)\"" }
}

/// The tables of a service's schema. Migrations only add: replicas of the version before work on meanwhile.
struct PostgresSchema {
    /// The first keys of advisory locks; the second is the service.
    static let leaseLock: Int32 = 0x7061_6365
    private static let schemaLock: Int32 = 0x7061_6366

    private let schema: StoreSchema

    init(_ schema: StoreSchema) {
        self.schema = schema
    }

    private static func execute(_ sql: String) -> PostgresStatement { PostgresStatement(sql, isPrepared: false) }

    /// Creates what is missing, one replica at a time.
    func prepare(on connection: PostgresConnection) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do {
                return try prepare(on: connection, until: deadline)
            } catch let failure as PostgresFailure {
                guard case .refused(let state, _) = failure else { throw failure }
                _ = try connection.run(Self.execute("ROLLBACK"), until: deadline)
                // Another replica holds the lock for longer than the timeout of locks.
                guard state == "55P03", ContinuousClock.now < deadline else { throw failure }
            } catch {
                _ = try connection.run(Self.execute("ROLLBACK"), until: deadline)
                throw error
            }
        }
    }

    private func prepare(on connection: PostgresConnection, until deadline: ContinuousClock.Instant) throws {
        let name = PostgresValue.text(schema.service)
        let found = try connection.run(
            [
                Self.execute("BEGIN"),
                PostgresStatement(
                    "SELECT pg_advisory_xact_lock($1, hashtext($2))", PostgresValue.int4(Self.schemaLock), name),
                PostgresStatement(
                    """
                    SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1),
                        EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'store'),
                        EXISTS (SELECT FROM pg_tables WHERE schemaname = $1),
                        current_setting('server_encoding') = 'UTF8'
                    """, name),
            ], until: deadline)[2]
        guard found.flag(0, 3) else { throw StoreError.notReadable("the database's encoding is not UTF8") }
        var version = 0
        if found.flag(0, 1) {
            let row = try connection.run(Self.execute("SELECT service, version, oldest FROM store"), until: deadline)
            version = Int(row.integer(0, 1))
            guard row.text(0, 0) == schema.service else {
                throw StoreError.foreign(path: schema.service, service: row.text(0, 0))
            }
            guard schema.version >= row.integer(0, 2) else {
                throw StoreError.newer(path: schema.service, version: version, supported: schema.version)
            }
        } else if found.flag(0, 2) {
            throw StoreError.foreign(path: schema.service, service: "another program")
        }
        var statements: [PostgresStatement] = []
        if !found.flag(0, 0) { statements.append(Self.execute("CREATE SCHEMA \(schema.channel)")) }
        if version == 0 { statements += base }
        for collection in schema.steps.dropFirst(version).joined() { statements += create(collection) }
        if version < schema.version {
            statements.append(
                Self.execute("UPDATE store SET version = \(schema.version)"))
        }
        _ = try connection.run(statements + [Self.execute("COMMIT")], until: deadline)
    }

    /// The tables of every service.
    private var base: [PostgresStatement] {
        [
            """
            CREATE TABLE store (service text NOT NULL, version int NOT NULL, oldest int NOT NULL)
            """,
            "INSERT INTO store (service, version, oldest) VALUES ('\(schema.service)', 0, 1)",
            """
            CREATE TABLE member (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, beat bigint NOT NULL, expires_at timestamptz NOT NULL,
                version int NOT NULL, backend int
            ) WITH (fillfactor = 10)
            """,
            """
            CREATE TABLE lease (
                shard int2 PRIMARY KEY, owner bigint, epoch bigint NOT NULL, version int NOT NULL, free_since timestamptz
            )
            """,
            """
            INSERT INTO lease (shard, epoch, version, free_since)
            SELECT shard, 0, \(schema.version), clock_timestamp() FROM generate_series(0, 255) AS shard
            """,
        ].map(Self.execute)
    }

    private func create(_ collection: StoreCollection) -> [PostgresStatement] {
        guard collection != .journal else {
            return [
                """
                CREATE TABLE journal (
                    incarnation bigint, sequence bigint, number bigint GENERATED ALWAYS AS IDENTITY,
                    shards int2[] NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (incarnation, sequence)
                ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)
                """,
                "ALTER TABLE journal ALTER bytes SET STORAGE EXTERNAL",
            ].map(Self.execute)
        }
        return [
            Self.execute(
                """
                CREATE TABLE \(collection.table) (
                    shard int2, key text COLLATE "C", value bytea COMPRESSION lz4 NOT NULL, PRIMARY KEY (shard, key)
                ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)
                """)
        ]
    }
}
