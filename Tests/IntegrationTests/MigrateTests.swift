import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// `compose/migrate`: stores move from SQLite into PostgreSQL.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(60)))
struct MigrateTests {
    private let files = FileManager.default

    private func exists(_ compose: ComposeFolder, _ name: String) -> Bool {
        files.fileExists(atPath: compose.folder.file(name))
    }

    /// Runs statements in a SQLite store and returns what they print.
    @discardableResult
    private func sqlite(_ compose: ComposeFolder, _ service: String, _ sql: String) async throws -> String {
        let store = compose.folder.file("data/\(service).sqlite")
        return String(decoding: try await ChildProcess.output(of: ["sqlite3", store, sql]), as: UTF8.self)
    }

    /// Runs `compose/migrate`, which has to fail, and returns its message.
    private func refusal(_ compose: ComposeFolder, _ arguments: String...) async throws -> String {
        let log = compose.folder.file("refusal.log")
        try? files.removeItem(atPath: log)
        let migrate = try ChildProcess([compose.folder.file("compose/migrate")] + arguments, log: log)
        #expect(await migrate.finish() == 1)
        return try String(contentsOfFile: log, encoding: .utf8)
    }

    /// A stopped folder with the store of metrics-aggregator, as the service created it, and rows of every kind.
    private func stopped() async throws -> ComposeFolder {
        let compose = try ComposeSystem.folder()
        _ = try await compose.addAccount("anna")
        let store = compose.folder.file("data/metrics-aggregator.sqlite")
        let service = try Installation.run(
            "metrics-aggregator",
            ["--mqtt-url", "mqtt://_metrics-aggregator@127.0.0.1:1", "--store-url", "sqlite:\(store)"],
            environment: [], log: compose.folder.file("service.log"))
        let count = ["sqlite3", "-readonly", store, "SELECT count(*) FROM journal"]
        #expect(await eventually { (try? await ChildProcess.output(of: count)) == Data("0\n".utf8) })
        service.end(SIGTERM)
        // The shards 0, 9 and 255, and 7: a bit for each.
        let sets = ["0102" + String(repeating: "00", count: 29) + "80", "80" + String(repeating: "00", count: 31)]
        try await sqlite(
            compose, "metrics-aggregator",
            """
            INSERT INTO collection_chunks VALUES (255, 'anna/z', x''), (7, 'anna/a\\b/ä', x'00ff5c090a');
            INSERT INTO journal VALUES (41, x'\(sets[0])', x'0001'), (43, x'\(sets[1])', x'000000');
            UPDATE store SET epoch = 90;
            """)
        return compose
    }

    @Test func `after a kill the old stores count, and again all rows move and all numbers continue`() async throws {
        let compose = try await stopped()
        let dump = try await sqlite(compose, "metrics-aggregator", ".dump")
        let log = compose.folder.file("killed.log")
        let killed = try ChildProcess([compose.folder.file("compose/migrate"), "--postgres"], log: log)
        let copies = await eventually {
            (try? String(contentsOfFile: log, encoding: .utf8))?.contains("Copying metrics-aggregator: 4 rows") == true
        }
        #expect(copies, "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
        killed.end(SIGKILL)
        #expect(!exists(compose, "data/postgres"))
        #expect(try await sqlite(compose, "metrics-aggregator", ".dump") == dump)
        // What the killed command started ends with it, and releases the lock then.
        let lock = ["flock", "--exclusive", "--timeout", "60", compose.folder.file("data/up.lock"), "true"]
        try await ChildProcess.run(lock, log: compose.folder.file("lock.log"))

        let text = try await compose.run("migrate", "--postgres")
        #expect(
            text.contains("Comparing metrics-aggregator\n") && text.contains("compose/up --postgres continues"),
            "\(text)")
        let state = try await compose.database(
            "metrics-aggregator",
            """
            SELECT shard, key, encode(value, 'hex') FROM collection_chunks ORDER BY shard;
            SELECT incarnation, sequence, shards, encode(bytes, 'hex') FROM journal ORDER BY number;
            SELECT DISTINCT epoch, owner IS NULL FROM lease;
            SELECT count(*) FROM member;
            """)
        #expect(
            state
                == "7|anna/a\\b/ä|00ff5c090a\n255|anna/z|\n0|41|{0,9,255}|0001\n0|43|{7}|000000\n91|t\n0\n")
        let left = try files.contentsOfDirectory(atPath: compose.folder.file("data"))
        #expect(
            !left.contains { $0.contains(".sqlite") || $0.hasPrefix("migrating.") || $0.hasPrefix("backup.") },
            "\(left)")
        #expect(left.contains { $0.hasPrefix("before-") })
        #expect(!exists(compose, "data/postgres/migrated"))
        let again = try await compose.run("migrate", "--postgres")
        #expect(again == "The stores are in PostgreSQL. compose/up --postgres runs on them.\n")
    }

    @Test func `after a kill behind the last step the next command moves the former stores away`() async throws {
        let compose = try ComposeFolder()
        for folder in ["postgres", "migrating.a1B2c3/data", "before-20261128T000000Z"] {
            try files.createDirectory(
                atPath: compose.folder.file("data/\(folder)"), withIntermediateDirectories: true)
        }
        try compose.folder.write("before-20261128T000000Z\n", to: "data/postgres/migrated")
        for name in ["exporter.sqlite", "exporter.sqlite-wal", "exporter.sqlite.lock", "route-builder.sqlite.reserve"] {
            try compose.folder.write("", to: "data/\(name)")
        }
        try compose.folder.write("", to: "data/before-20261128T000000Z/session-engine.sqlite")
        try await compose.shell("settle_migration\nsettle_migration")
        let left = try files.contentsOfDirectory(atPath: compose.folder.file("data")).sorted()
        #expect(left == ["before-20261128T000000Z", "log", "postgres"])
        #expect(!exists(compose, "data/postgres/migrated"))
        let former = try files.contentsOfDirectory(atPath: compose.folder.file("data/before-20261128T000000Z")).sorted()
        #expect(former == ["exporter.sqlite", "exporter.sqlite-wal", "exporter.sqlite.lock", "session-engine.sqlite"])
    }

    @Test func `it refuses what it cannot move, and changes nothing`() async throws {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("anna")
        #expect(try await refusal(compose) == "compose/migrate: missing --postgres; see compose/migrate --help\n")
        #expect(try await refusal(compose, "--sqlite").contains("unknown argument '--sqlite'"))
        #expect(try await refusal(compose, "--postgres").contains("no stores in "))
        try await sqlite(compose, "exporter", "CREATE TABLE store (service, version, epoch)")
        #expect(try await refusal(compose, "--postgres").contains(".build/bin/exporter not found; run compose/build"))
        try files.createDirectory(atPath: compose.folder.file(".build/bin"), withIntermediateDirectories: true)
        try files.createSymbolicLink(
            atPath: compose.folder.file(".build/bin/exporter"), withDestinationPath: "/bin/true")
        let path = compose.folder.file("data/exporter.sqlite.lock")
        let sign = compose.folder.file("locked")
        let service = try ChildProcess(
            ["bash", "-c", "exec 9>>\(path); flock 9; : >\(sign); exec sleep 60"],
            log: compose.folder.file("service.log"))
        defer { service.end(SIGKILL) }
        try #require(await eventually { exists(compose, "locked") })
        #expect(try await refusal(compose, "--postgres").contains("another process runs on data/exporter.sqlite"))
        #expect(exists(compose, "data/exporter.sqlite") && !exists(compose, "data/backups"))
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `a workout that runs meanwhile is as without the move`() async throws {
        let compose = try ComposeSystem.folder()
        let password = try await compose.addAccount("anna")
        let user = try #require(User("anna"))
        let recording = FITFixture.workout(start: 1_700_000_000, duration: 1_200, pauses: [300...400])
        let (finished, live) = (SessionKey(user, SessionID(UUID())), SessionKey(user, SessionID(UUID())))
        func results(_ key: SessionKey, _ observer: BusObserver) async throws -> [String] {
            try await Results(key, device: "watch-1", items: 301 + 801, from: observer).comparable
                .map { $0.replacing("\(key.session)", with: "session") }
        }
        let system = try await ComposeSystem.run(compose)
        defer { system.process.end(SIGTERM) }
        let expected = try await system.observe { observer in
            let calm = try system.replay(recording, finished, password: password)
            #expect(await calm.finish() == 0, "\(system.deviceLog)")
            let expected = try await results(finished, observer)
            let device = try system.replay(recording, live, password: password, speedUp: 60)
            _ = try await observer.wait(for: Topic.session(live, .metrics).name) { payload in
                (try? JSONCoding.decode(MetricsSnapshot.self, from: payload))?.count ?? 0 >= 400
            }
            device.end(SIGKILL)
            return expected
        }
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
        try await compose.run("migrate", "--postgres")

        let moved = try await ComposeSystem.run(compose, ["--postgres"])
        defer { moved.process.end(SIGTERM) }
        try await moved.observe { observer in
            #expect(try await results(finished, observer) == expected)
            let device = try moved.replay(recording, live, password: password)
            #expect(await device.finish() == 0, "\(moved.deviceLog)")
            #expect(try await results(live, observer) == expected)
        }
        moved.process.send(SIGINT)
        #expect(await moved.process.finish() == 0)
    }
}
