import Foundation
import TestSupport
import Testing

/// `compose/backup --scheduled`: verified, encrypted, copied and pruned backups.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ScheduledBackupTests {
    private let files = FileManager.default

    /// A stopped system with an account and a store, and the folder `backups`.
    private func system() async throws -> ComposeFolder {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("demo")
        try await sqlite(compose, "CREATE TABLE a (b); INSERT INTO a VALUES (1)")
        try files.createDirectory(atPath: compose.folder.file("backups"), withIntermediateDirectories: false)
        return compose
    }

    /// Runs a statement in the exporter's store, and returns what it prints.
    @discardableResult
    private func sqlite(_ compose: ComposeFolder, _ sql: String) async throws -> String {
        let store = compose.folder.file("data/exporter.sqlite")
        return String(decoding: try await ChildProcess.output(of: ["sqlite3", store, sql]), as: UTF8.self)
    }

    /// Runs a command of the folder with settings in the environment, and returns its status and what it prints.
    private func run(
        _ compose: ComposeFolder, _ command: [String], _ settings: [String] = []
    ) async throws -> (status: Int32, text: String) {
        let log = compose.folder.file("\(UUID().uuidString).log")
        let path = compose.folder.file("compose/\(command[0])")
        let process = try ChildProcess(["env"] + settings + [path] + command.dropFirst(), log: log)
        let status = await process.finish()
        return (status, try String(contentsOfFile: log, encoding: .utf8))
    }

    /// Makes a scheduled backup in the folder `backups`, and returns its path.
    private func backup(_ compose: ComposeFolder, _ settings: String...) async throws -> String {
        let folder = "BACKUP_FOLDER=\(compose.folder.file("backups"))"
        let (status, text) = try await run(compose, ["backup", "--scheduled"], [folder] + settings)
        try #require(status == 0, "\(text)")
        return try #require(text.split(separator: "\n").last.map { String($0) })
    }

    private func names(_ compose: ComposeFolder) throws -> Set<String> {
        Set(try files.contentsOfDirectory(atPath: compose.folder.file("backups")))
    }

    /// When the last backup began that counts.
    private func lastBackup(_ compose: ComposeFolder) -> Date? {
        let attributes = try? files.attributesOfItem(atPath: compose.folder.file("data/last-backup"))
        return attributes?[.modificationDate] as? Date
    }

    /// Nothing is left of a backup's or a restore's work.
    private func expectNothingLeft(_ compose: ComposeFolder) throws {
        let left = try files.contentsOfDirectory(atPath: compose.folder.file("data"))
        #expect(!left.contains { $0.hasPrefix("backup.") || $0.hasPrefix("restoring.") }, "\(left)")
        #expect(try !names(compose).contains { $0.hasPrefix(".") })
    }

    @Test func `what a killed backup left is deleted by the next one, and one under way stays`() async throws {
        let compose = try await system()
        for name in ["killed", "others"] {
            try files.createDirectory(
                atPath: compose.folder.file("data/backup.\(name)"), withIntermediateDirectories: false)
            try Data().write(to: URL(filePath: compose.folder.file("data/backup.\(name)/lock")))
        }
        let lock = compose.folder.file("data/backup.others/lock")
        let holder = try ChildProcess(
            ["flock", lock, "sh", "-c", "echo held && exec sleep 600"], log: compose.folder.file("holder.log"))
        defer { holder.end(SIGKILL) }
        #expect(
            await eventually {
                (try? String(contentsOfFile: compose.folder.file("holder.log"), encoding: .utf8)) == "held\n"
            })
        _ = try await backup(compose)
        let left = try files.contentsOfDirectory(atPath: compose.folder.file("data")).filter { $0.hasPrefix("backup.") }
        #expect(left == ["backup.others"])
    }

    @Test func `scheduled backups of 7 days, 5 weeks and 12 months stay, and all files of others`() async throws {
        let compose = try await system()
        let first = try await backup(compose)
        // All but the time, which begins after the last hyphen.
        let prefix = try String(first[...(#require(first.lastIndex(of: "-")))])
        try files.removeItem(atPath: first)
        let days = try await ChildProcess.output(
            of: ["bash", "-c", "for i in {0..399}; do date --utc --date \"2025-02-03 $i days ago\" +%Y%m%d; done"])
        let own = String(decoding: days, as: UTF8.self).split(separator: "\n")
        try #require(own.count == 400)
        for day in own { try Data().write(to: URL(filePath: "\(prefix)\(day)T031500Z.tar.gz")) }
        // An earlier one of a day with two.
        try Data().write(to: URL(filePath: "\(prefix)20250203T021500Z.tar.gz.age"))
        let folder = compose.folder.file("backups/")
        let name = String(prefix.dropFirst(folder.count))
        let others: Set = [
            "pacebus-20240101T000000Z.tar.gz", "scheduled-00000000-20240102T000000Z.tar.gz", "\(name)notes",
            "\(name)20240103T000000Z.tar.gz.part", "\(name)20240231T000000Z.tar.gz",
        ]
        for other in others { try Data().write(to: URL(filePath: folder + other)) }
        let link = "\(name)20240104T000000Z.tar.gz"
        try files.createSymbolicLink(atPath: folder + link, withDestinationPath: folder + "\(name)notes")

        let last = try await backup(compose)
        // The new one is also the newest of its day, week and month.
        let kept = [
            "20250203", "20250202", "20250201", "20250131", "20250130", "20250129", "20250126", "20250119", "20241231",
            "20241130", "20241031", "20240930", "20240831", "20240731", "20240630", "20240531", "20240430",
        ].map { "\(name)\($0)T031500Z.tar.gz" }
        #expect(try names(compose) == others.union(kept).union([link, String(last.dropFirst(folder.count))]))
    }

    @Test func `a clock that was ahead costs no backup`() async throws {
        let compose = try await system()
        let first = try await backup(compose)
        let prefix = try String(first[...(#require(first.lastIndex(of: "-")))])
        try files.removeItem(atPath: first)
        for year in 2_100..<2_120 { try Data().write(to: URL(filePath: "\(prefix)\(year)0101T000000Z.tar.gz")) }
        let earlier = "\(prefix)20250203T031500Z.tar.gz"
        try Data().write(to: URL(filePath: earlier))
        let last = try await backup(compose)
        #expect(files.fileExists(atPath: last) && files.fileExists(atPath: earlier))
        #expect(try names(compose).count == 22)
    }

    @Test func `an encrypted backup needs its identity`() async throws {
        let compose = try await system()
        let folder = compose.folder
        for name in ["identity", "other"] {
            try await ChildProcess.run(["age-keygen", "-o", folder.file(name)], log: folder.file("age.log"))
        }
        let identity = try String(contentsOfFile: folder.file("identity"), encoding: .utf8)
        let key = try #require(identity.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("age1") })
        let file = try await backup(compose, "BACKUP_RECIPIENT=\(key)")
        #expect(file.hasSuffix("Z.tar.gz.age"))
        #expect(try files.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        #expect(try Data(contentsOf: URL(filePath: file)).starts(with: Data("age-encryption.org/v1\n".utf8)))
        let bytes = try Data(contentsOf: URL(filePath: file))
        try bytes.dropLast(100).write(to: URL(filePath: folder.file("damaged")))

        let second = try ComposeFolder()
        for (path, setting, reason) in [
            (file, "A=", "is encrypted; set BACKUP_IDENTITY"),
            (file, "BACKUP_IDENTITY=\(folder.file("none"))", "BACKUP_IDENTITY: cannot read the file "),
            (file, "BACKUP_IDENTITY=\(folder.file("other"))", "is encrypted for another identity"),
            (file, "BACKUP_IDENTITY=\(folder.file("age.log"))", "holds no age identity"),
            (folder.file("damaged"), "BACKUP_IDENTITY=\(folder.file("identity"))", "is damaged"),
        ] {
            let (status, text) = try await run(second, ["restore", path], [setting])
            #expect(status == 1)
            #expect(text.contains(reason), "\(text)")
            #expect(try files.contentsOfDirectory(atPath: second.folder.file("data")) == ["up.lock"])
        }
        let (status, text) = try await run(
            second, ["restore", file], ["BACKUP_IDENTITY=\(folder.file("identity"))"])
        #expect(status == 0, "\(text)")
        #expect(try await sqlite(second, "SELECT b FROM a") == "1\n")

        // A file of public keys. The backup may be made in the same second, and replaces no file.
        try files.removeItem(atPath: file)
        let keys = try folder.write("# two\n\(key)\n\(key)\n", to: "keys")
        #expect(try await backup(compose, "BACKUP_RECIPIENT=\(keys)").hasSuffix(".age"))
    }

    @Test func `a wrong public key leaves no file and appears in no message`() async throws {
        let compose = try await system()
        let secret = "AGE-SECRET-KEY-1QQQQ"
        let path = try compose.folder.write("\(secret)\n", to: "secret")
        for recipient in [secret, path, "junk"] {
            let file = compose.folder.file("backups/a.tar.gz.age")
            let (status, text) = try await run(compose, ["backup", file], ["BACKUP_RECIPIENT=\(recipient)"])
            #expect(status == 1)
            #expect(text.contains("BACKUP_RECIPIENT is neither an age public key nor a readable file"), "\(text)")
            #expect(!text.contains(secret))
        }
        #expect(try names(compose) == [])
        #expect(lastBackup(compose) == nil)
        try expectNothingLeft(compose)
    }

    @Test func `BACKUP_COMMAND copies the file, and a backup counts only after it`() async throws {
        let compose = try await system()
        let folder = "BACKUP_FOLDER=\(compose.folder.file("backups"))"
        let (status, text) = try await run(
            compose, ["backup", "--scheduled"], [folder, "BACKUP_COMMAND=echo \"copying $1\"; exit 7"])
        let name = try #require(try names(compose).first)
        let file = compose.folder.file("backups/\(name)")
        #expect(status == 1)
        #expect(text.contains("copying \(file)\n"), "\(text)")
        #expect(text.contains("BACKUP_COMMAND ended with status 7; correct it and run it again for \(file)"), "\(text)")
        #expect(lastBackup(compose) == nil)

        // The next one may be made in the same second, and replaces no file.
        try files.removeItem(atPath: file)
        let copy = compose.folder.file("a copy")
        let last = try await backup(compose, "BACKUP_COMMAND=cp \"$1\" '\(copy)'")
        #expect(files.contentsEqual(atPath: last, andPath: copy))
        #expect(lastBackup(compose) != nil)
    }

    @Test func `a damaged store, or an entry that restore refuses, makes no backup`() async throws {
        let compose = try await system()
        let link = compose.folder.file("data/secrets/link")
        try files.createSymbolicLink(atPath: link, withDestinationPath: "/etc/passwd")
        let file = compose.folder.file("backups/a.tar.gz")
        let refused = try await run(compose, ["backup", file])
        #expect(refused.status == 1)
        #expect(refused.text.contains("the new backup holds an unexpected entry: "), "\(refused.text)")
        try files.removeItem(atPath: link)

        try await sqlite(
            compose,
            """
            PRAGMA writable_schema = ON;
            INSERT INTO a VALUES (NULL);
            UPDATE sqlite_schema SET sql = 'CREATE TABLE a (b NOT NULL)' WHERE name = 'a'
            """)
        let damaged = try await run(compose, ["backup", file])
        #expect(damaged.status == 1)
        #expect(damaged.text.contains("data/exporter.sqlite is damaged: "), "\(damaged.text)")
        #expect(try names(compose) == [])
        #expect(lastBackup(compose) == nil)
        try expectNothingLeft(compose)
    }

    @Test func `a full disk or a missing folder is an error, and leaves no file`() async throws {
        let compose = try await system()
        let missing = try await run(
            compose, ["backup", "--scheduled"], ["BACKUP_FOLDER=\(compose.folder.file("missing"))"])
        #expect(missing.status == 1)
        #expect(missing.text.contains("mount its disk or create it"), "\(missing.text)")
        guard let disk = SmallDisk(compose.folder, megabytes: 1) else {
            return print("skipped: mounting is not permitted")
        }
        defer { disk.unmount() }
        try disk.fill()
        let full = try await run(compose, ["backup", "--scheduled"], ["BACKUP_FOLDER=\(disk.path)"])
        #expect(full.status == 1)
        #expect(full.text.contains("the disk of \(disk.path) is full"), "\(full.text)")
        #expect(try files.contentsOfDirectory(atPath: disk.path) == ["filler"])
        #expect(lastBackup(compose) == nil)
        try expectNothingLeft(compose)
    }
}
