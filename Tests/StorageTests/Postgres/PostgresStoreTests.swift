import Foundation
import TestSupport
import Testing
import Workouts

@testable import Storage

@Suite(.enabled(if: PostgresServer.isInstalled)) struct PostgresStoreTests {
    @Test func `every outcome is known wherever the connection breaks`() async throws {
        let server = try await PostgresServer.shared
        let link = try CuttingLink(to: server.port)
        defer { link.close() }
        let place = StorePlace.postgres(server.url(try await server.createDatabase(), port: link.port))
        let open = try await OpenStore(place, schema: .journaled)
        var random = SeededRandom()
        var counts = [0, 0]
        for number in 0..<120 {
            let value = (0..<Int.random(in: 0...2_000, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let cuts = Bool.random(using: &random)
            link.set(
                cuts
                    ? .cut(after: Int.random(in: 0...4_000, using: &random))
                    : .swallow(after: Int.random(in: 0...200, using: &random)))
            counts[cuts ? 0 : 1] += 1
            let report = try await open.store.commit([
                open.put("\(number)", value), open.append("a/1/w", number, value),
            ])
            #expect(report.lostShards.isEmpty)
        }
        link.repair()
        // Each commit counts once.
        #expect(try await open.journal().entries.map(\.first) == Array(0..<120))
        #expect(try await open.all().count == 120)
        await open.store.close()
    }

    @Test func `a member whose row is gone commits nothing and loses all shards`() async throws {
        let server = try await PostgresServer.shared
        let database = try await server.createDatabase()
        let open = try await OpenStore(StorePlace.postgres(server.url(database)))
        _ = try await open.store.commit([open.put("a", [1])])
        try await server.run("DELETE FROM orchard.member", in: database)
        #expect(try await open.store.commit([open.put("a", [2]), open.put("b", [2])]).lostShards == [Shard(7)])
        #expect(open.store.lost(of: [Shard(7): open.epoch]) == [Shard(7)])
        #expect(try await open.all() == [StoreKey(shard: Shard(7), key: "a"): [1]])
        var changes = open.store.ownership.makeAsyncIterator()
        #expect(await changes.next() == .lost(open.shards))
        guard case .gained(let epochs)? = await changes.next() else { throw OpenStore.NothingGained() }
        #expect(epochs.values.allSatisfy { $0 > open.epoch })
        await open.store.close()
    }

    @Test func `a silent database takes all shards away before another replica may own them`() async throws {
        let server = try await PostgresServer.shared
        let link = try CuttingLink(to: server.port)
        defer { link.close() }
        let database = try await server.createDatabase()
        let open = try await OpenStore(
            StorePlace.postgres(server.url(database, port: link.port)), lease: .seconds(5))
        _ = try await open.store.commit([open.put("a", [1])])
        link.set(.freeze)
        #expect(try await open.store.commit([open.put("a", [2])]).lostShards == [Shard(7)])
        let other = try PostgresStore(
            PostgresAddress(server.url(database)), schema: .fruit, plan: .shards(Set(Shard.all)))
        var changes = other.ownership.makeAsyncIterator()
        var gained: Set<Shard> = []
        while gained.isEmpty, case .gained(let epochs)? = await changes.next() { gained = Set(epochs.keys) }
        #expect(gained == open.shards)
        #expect(try await other.records(in: .apples, shards: gained).map(\.value) == [[1]])
        link.repair()
        await open.store.close()
        await other.close()
    }

    @Test func `a commit above the limit is refused`() async throws {
        let open = try await OpenStore(StoreKind.postgres.place())
        let value = [UInt8](repeating: 1, count: PostgresCommit.limit)
        await #expect(throws: StoreError.self) { try await open.store.commit([open.put("a", value)]) }
        _ = try await open.store.commit([open.put("a", Array(value.dropLast()))])
        await open.store.close()
    }

    @Test func `an older program starts beside a newer one and claims none of its shards`() async throws {
        let server = try await PostgresServer.shared
        let place = StorePlace.postgres(server.url(try await server.createDatabase()))
        let new = try await OpenStore(place, schema: StoreSchema(service: "orchard", steps: [[.apples], [.pears]]))
        await new.store.close()
        await #expect(throws: OpenStore.NothingGained.self) {
            try await OpenStore(place, schema: StoreSchema(service: "orchard", steps: [[.apples]]))
        }
    }

    @Test func `a server beyond its authority, its name or the password is refused`() async throws {
        let server = try await PostgresServer.shared
        let database = try await server.createDatabase()
        try await server.run("CREATE ROLE \(PostgresServer.guarded) LOGIN PASSWORD 'correct horse'")
        try await server.run("GRANT CREATE ON DATABASE \(database) TO \(PostgresServer.guarded)")
        let folder = try TemporaryFolder()
        let other = folder.file("other.pem")
        try await ChildProcess.run(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days",
                "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                folder.file("other.key"), "-out", other,
            ], log: folder.file("openssl.log"))
        func connect(_ host: String, _ caFile: String?, _ password: String?) throws -> PostgresConnection {
            try PostgresConnection(
                PostgresAddress(
                    "postgres://\(PostgresServer.guarded)@\(host):\(server.port)/\(database)", caFile: caFile
                ) { password }, service: "orchard")
        }
        let password = "correct horse"
        let connection = try connect("localhost", server.caFile, password)
        let encrypted = try connection.run(
            PostgresStatement("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"), until: .now + .seconds(10))
        #expect(encrypted.flag(0, 0))
        let refused: [(String, String?, String?)] = [
            ("localhost", other, password), ("127.0.0.1", server.caFile, password), ("localhost", nil, password),
            ("localhost", server.caFile, "battery"), ("localhost", server.caFile, nil),
        ]
        for (host, caFile, password) in refused {
            do {
                _ = try connect(host, caFile, password)
                Issue.record("connected to \(host)")
            } catch let failure as PostgresFailure {
                #expect(!failure.text.contains("horse") && !failure.text.contains("battery"))
            }
        }
    }

    @Test func `a released shard takes no commit`() async throws {
        let server = try await PostgresServer.shared
        let address = try PostgresAddress(server.url(try await server.createDatabase()))
        func open() throws -> PostgresStore {
            try PostgresStore(address, schema: .fruit, plan: .balanced, lease: .seconds(600))
        }
        let stores = try [open(), open()]
        var changes = stores[0].ownership.makeAsyncIterator()
        guard case .gained(let epochs)? = await changes.next(), case .releasing(let shards)? = await changes.next(),
            let shard = shards.first, let epoch = epochs[shard]
        else { throw OpenStore.NothingGained() }
        let write = StoreWrite(
            shard: shard, epoch: epoch, collection: .apples, change: .put(key: "a", value: [1]))
        #expect(try await stores[0].commit([write]).lostShards == [])
        await stores[0].released(shards)
        #expect(try await stores[0].commit([write]).lostShards == [shard])
        for store in stores { await store.close() }
    }

    @Test func `a closed store neither commits nor reads`() async throws {
        let place = try await StoreKind.postgres.place()
        let open = try await OpenStore(place)
        await open.store.close()
        await #expect(throws: StoreError.self) { try await open.store.commit([open.put("b", [2], shard: Shard(8))]) }
        await #expect(throws: StoreError.self) { try await open.all() }
        // Nothing is left to expire.
        let next = try await OpenStore(place)
        #expect(next.shards == Set(Shard.all))
        await next.store.close()
    }

    @Test func `addresses name servers, a user and a database`() throws {
        let address = try PostgresAddress(
            "postgres://ann@a,b:6000,[::1]/pacebus?target_session_attrs=any", caFile: "/ca")
        #expect(address.hosts.map(\.name) == ["a", "b", "::1"] && address.hosts.map(\.port) == [5432, 6000, 5432])
        #expect(address.description == "postgres://ann@a,b:6000,[::1]/pacebus")
        #expect(address.options(service: "x").contains { $0 == ("sslmode", "verify-full") })
        #expect(try PostgresAddress("postgres://ann@a/pacebus").needsCAFile)
        let local = try PostgresAddress("postgres://ann@/pacebus?host=/run/postgresql", password: { "secret" })
        #expect(!local.needsCAFile && local.options(service: "x").contains { $0 == ("sslmode", "disable") })
        #expect(!"\(local)".contains("secret") && !String(reflecting: local).contains("secret"))
        for text in [
            "mysql://ann@a/b", "postgres://a/b", "postgres://ann@a", "postgres://ann@a/", "postgres://ann:secret@a/b",
            "postgres://ann@/b", "postgres://ann@a:x/b", "postgres://ann@a/b?sslmode=disable", "postgres://ann@[::1/b",
            "postgres://ann@a/b?target_session_attrs=standby", "postgres://ann@/b?host=a",
        ] {
            let error = #expect(throws: PostgresAddress.Problem.self) { try PostgresAddress(text) }
            #expect(error?.text.contains("secret") == false)
        }
    }
}
