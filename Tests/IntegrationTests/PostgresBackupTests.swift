import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// Backups of a system on PostgreSQL.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(60)))
struct PostgresBackupTests {
    private static let recording = FITFixture.workout(
        start: 1_700_000_000, duration: 1_200, pauses: [300...400])
    /// A record each second, both ends of each segment included.
    private static let items = 301 + 801

    /// Plays a recording as anna, with the queue of an earlier run.
    private func replay(
        _ key: SessionKey, on system: ComposeSystem, _ folder: TemporaryFolder, password: Secret, speedUp: Int
    ) throws -> ChildProcess {
        let (file, secret) = (folder.file("recording.fit"), folder.file("password"))
        try Data(Self.recording).write(to: URL(filePath: file))
        try Data(password.value.utf8).write(to: URL(filePath: secret))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
        return try Installation.run(
            "device",
            [
                "replay", file, "--user", "\(key.user)", "--session", "\(key.session)", "--device", "watch-1",
                "--speed-up", "\(speedUp)", "--queue-folder", folder.file("queue"), "--mqtt-url",
                try system.url("mqtt").replacing("mqtt://", with: "mqtt://\(key.user)@"),
            ], environment: ["MQTT_PASSWORD_FILE=\(secret)"], log: system.compose.folder.file("device.log"))
    }

    /// Observes a system as its operator.
    private func observing<R: Sendable>(
        _ system: ComposeSystem, _ body: (BusObserver) async throws -> R
    ) async throws -> R {
        let port = try #require(UInt16(try system.url("mqtt").split(separator: ":").last ?? ""))
        return try await BusObserver.run(
            port: port, account: "_operator", password: try system.compose.password(of: "_operator"), body)
    }

    private func results(_ key: SessionKey, _ observer: BusObserver) async throws -> [String] {
        try await Results(key, device: "watch-1", items: Self.items, from: observer).comparable
            .map { $0.replacing("\(key.session)", with: "session") }
    }

    private func wait(for count: Int, of key: SessionKey, _ observer: BusObserver) async throws {
        _ = try await observer.wait(for: Topic.session(key, .metrics).name) { payload in
            (try? JSONCoding.decode(MetricsSnapshot.self, from: payload))?.count ?? 0 >= count
        }
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `workouts continue in another folder from a backup that was made while replicas wrote`() async throws {
        let folder = try TemporaryFolder()
        let (first, second) = (try ComposeSystem.folder(), try ComposeSystem.folder())
        let password = try await first.addAccount("anna")
        let backup = folder.file("backup.tar.gz")
        let user = try #require(User("anna"))
        let (finished, live) = (SessionKey(user, SessionID(UUID())), SessionKey(user, SessionID(UUID())))

        let system = try await ComposeSystem.run(first, ["--postgres", "--scale", "metrics-aggregator=2"])
        defer { system.process.end(SIGTERM) }
        let expected = try await observing(system) { observer in
            let calm = try replay(finished, on: system, folder, password: password, speedUp: 0)
            #expect(await calm.finish() == 0, "\(system.deviceLog)")
            let expected = try await results(finished, observer)
            let device = try replay(live, on: system, folder, password: password, speedUp: 60)
            try await wait(for: 400, of: live, observer)
            let (status, text) = try await system.command("backup", backup)
            #expect(status == 0, "\(text)")
            // The backup lacks these items; the device has deleted none that the engine's workout lacks.
            try await wait(for: 600, of: live, observer)
            device.end(SIGKILL)
            return expected
        }
        let permissions = try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? Int
        #expect(permissions == 0o600)
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)

        try await second.run("restore", backup)
        #expect(try await second.run("user", "list").hasPrefix("anna"))
        let restored = try await ComposeSystem.run(second, ["--postgres"])
        defer { restored.process.end(SIGTERM) }
        try await observing(restored) { observer in
            #expect(try await results(finished, observer) == expected)
            let device = try replay(live, on: restored, folder, password: password, speedUp: 0)
            #expect(await device.finish() == 0, "\(restored.deviceLog)")
            #expect(try await results(live, observer) == expected)
        }
        restored.process.send(SIGINT)
        #expect(await restored.process.finish() == 0)
        #expect(restored.programs == [])
    }

    /// A folder with a database and no service: each with the tables that `compose/restore` changes.
    private func stopped() async throws -> ComposeFolder {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("demo")
        try await database(
            compose, "metrics-aggregator",
            """
            CREATE TABLE member (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
            INSERT INTO member DEFAULT VALUES;
            CREATE TABLE lease (shard int2 PRIMARY KEY, owner bigint, epoch bigint, free_since timestamptz);
            INSERT INTO lease VALUES (7, 1, 41, NULL);
            CREATE TABLE collection_apples (key text);
            INSERT INTO collection_apples VALUES ('a');
            """)
        return compose
    }

    @discardableResult
    private func database(_ compose: ComposeFolder, _ service: String, _ sql: String) async throws -> String {
        try await compose.database(service, sql)
    }

    @Test func `a stopped system is copied too, and no earlier replica or login comes back`() async throws {
        let compose = try await stopped()
        let backup = compose.folder.file("backup.tar.gz")
        try await compose.run("backup", backup)
        let other = try ComposeFolder()
        #expect(try await other.run("restore", backup).hasSuffix("compose/up --postgres continues from the backup.\n"))
        let state = try await database(
            other, "metrics-aggregator",
            """
            SELECT count(*) FROM member;
            SELECT owner IS NULL AND free_since IS NOT NULL, epoch FROM lease;
            TABLE collection_apples;
            INSERT INTO member DEFAULT VALUES RETURNING id;
            """)
        #expect(state == "0\nt|42\na\n2\n")
        let key = "data/secrets/_login-key"
        #expect(FileManager.default.fileExists(atPath: compose.folder.file(key)))
        #expect(!FileManager.default.fileExists(atPath: other.folder.file(key)))
        // The role of backups reads and does not write.
        #expect(try await database(other, "backup", "TABLE \"metrics-aggregator\".collection_apples") == "a\n")
        await #expect(throws: ChildProcess.Failure.self) {
            try await database(other, "backup", "DELETE FROM \"metrics-aggregator\".lease")
        }
        // Nothing is left of the work.
        let left = try FileManager.default.contentsOfDirectory(atPath: other.folder.file("data")).sorted()
        #expect(left == ["broker", "log", "postgres", "secrets", "up.lock"])
    }

    /// Runs `compose/restore`, which has to fail, and returns its message.
    private func refusal(_ compose: ComposeFolder, _ arguments: String...) async throws -> String {
        let log = compose.folder.file("refusal.log")
        let restore = try ChildProcess([compose.folder.file("compose/restore")] + arguments, log: log)
        #expect(await restore.finish() == 1)
        return try String(contentsOfFile: log, encoding: .utf8)
    }

    @Test func `a backup is restored into stores of its own kind only`() async throws {
        let postgres = try await stopped()
        let postgresBackup = postgres.folder.file("postgres.tar.gz")
        try await postgres.run("backup", postgresBackup)
        let sqlite = try ComposeFolder()
        _ = try await sqlite.addAccount("demo")
        try await ChildProcess.run(
            ["sqlite3", sqlite.folder.file("data/exporter.sqlite"), "CREATE TABLE a (b)"],
            log: sqlite.folder.file("sqlite.log"))
        let sqliteBackup = sqlite.folder.file("sqlite.tar.gz")
        try await sqlite.run("backup", sqliteBackup)

        let first = try await refusal(postgres, "--force", sqliteBackup)
        #expect(first.contains("sqlite.tar.gz has its stores in SQLite, and ") && first.contains("move data/postgres"))
        let second = try await refusal(sqlite, "--force", postgresBackup)
        #expect(
            second.contains("postgres.tar.gz has its stores in PostgreSQL")
                && second.contains("move data/*.sqlite"))
        #expect(try await database(postgres, "metrics-aggregator", "TABLE collection_apples") == "a\n")
        #expect(FileManager.default.fileExists(atPath: sqlite.folder.file("data/exporter.sqlite")))

        let third = try await refusal(postgres, postgresBackup)
        #expect(third.contains("--force moves it aside and restores"))
        try await postgres.run("restore", "--force", postgresBackup)
        #expect(try await database(postgres, "metrics-aggregator", "TABLE collection_apples") == "a\n")
    }

    /// Replaces an entry of a backup by what is on standard input.
    private static let replacement = """
        import io, sys, tarfile
        source, target, name, path = sys.argv[1:]
        content = open(path, "rb").read()
        with tarfile.open(source) as old, tarfile.open(target, "w:gz") as new:
            for member in old.getmembers():
                body = old.extractfile(member) if member.isfile() else None
                if member.name == name:
                    member.size, body = len(content), io.BytesIO(content)
                new.addfile(member, body)
        """

    private func replace(_ name: String, of backup: String, by path: String, _ folder: TemporaryFolder) async throws
        -> String
    {
        let program = try folder.write(Self.replacement, to: "replace.py")
        let evil = folder.file("evil.tar.gz")
        try await ChildProcess.run(
            [Python.interpreter, program, backup, evil, name, path], log: folder.file("python.log"))
        return evil
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `nothing in a backup runs with more rights than its service has`() async throws {
        let compose = try await stopped()
        let folder = compose.folder
        let backup = folder.file("backup.tar.gz")
        try await compose.run("backup", backup)
        // A password is part of a statement of the superuser.
        let secret = try folder.write("x'; CREATE ROLE evil SUPERUSER; --", to: "secret")
        let first = try await replace("data/secrets/postgres-exporter", of: backup, by: secret, folder)
        #expect(try await refusal(compose, "--force", first).contains("postgres-exporter holds no password"))
        // A dump with an object of another kind, and one with a statement that only a superuser may run.
        for (sql, reason) in [
            ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "holds an unexpected object: "),
            ("CREATE TABLE \"x y\" (a int)", "holds an unexpected object: "),
        ] {
            let other = try await stopped()
            try await database(other, "metrics-aggregator", sql)
            // It reads its file as compose/restore does.
            let failure = await #expect(throws: ChildProcess.Failure.self) {
                try await other.run("backup", other.folder.file("backup.tar.gz"))
            }
            #expect(failure?.text.contains(reason) == true, "\(failure?.text ?? "")")
            #expect(!FileManager.default.fileExists(atPath: other.folder.file("backup.tar.gz")))
        }
        let dump = folder.file("data/postgres.dump")
        try await ChildProcess.run(
            ["tar", "--extract", "--gzip", "--directory", folder.path, "--file", backup, "data/postgres.dump"],
            log: folder.file("tar.log"))
        var bytes = try Data(contentsOf: URL(filePath: dump))
        // As long as before: the dump has lengths.
        let copy = Data("COPY \"metrics-aggregator\".collection_apples (key) FROM stdin;\n".utf8)
        let program = Data("COPY \"metrics-aggregator\".lease FROM PROGRAM 'touch /tmp/evil';  \n".utf8)
        let range = try #require(bytes.range(of: copy))
        bytes.replaceSubrange(range, with: program.prefix(copy.count - 1) + Data("\n".utf8))
        try bytes.write(to: URL(filePath: dump))
        let last = try await replace("data/postgres.dump", of: backup, by: dump, folder)
        let text = try await refusal(compose, "--force", last)
        #expect(text.contains("PostgreSQL refuses metrics-aggregator: "), "\(text)")
        // All were refused before anything changed.
        try FileManager.default.removeItem(atPath: dump)
        #expect(try await database(compose, "metrics-aggregator", "TABLE collection_apples") == "a\n")
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.file("data"))
        #expect(!left.contains { $0.hasPrefix("before-") || $0.hasPrefix("restoring.") }, "\(left)")
    }
}
