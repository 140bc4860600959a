import Foundation
import TestSupport
import Testing

/// Backups in folders and from files of other accounts.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct BackupAbuseTests {
    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `a backup follows no link and takes over no file of another account`() async throws {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("demo")
        let folder = compose.folder
        let victim = try folder.write("untouched", to: "victim")
        let links = FileManager.default
        // A name that is easy to guess.
        try links.createSymbolicLink(atPath: folder.file("a.tar.gz.new"), withDestinationPath: victim)
        try await compose.run("backup", folder.file("a.tar.gz"))
        #expect(try mode(folder.file("a.tar.gz")) == 0o600)
        let foreign = try folder.write("", to: "b.tar.gz.new")
        try #require(chmod(foreign, 0o666) == 0)
        try await compose.run("backup", folder.file("b.tar.gz"))
        #expect(try mode(folder.file("b.tar.gz")) == 0o600)
        for (name, target) in [("c.tar.gz", victim), ("d.tar.gz", folder.file("absent"))] {
            try links.createSymbolicLink(atPath: folder.file(name), withDestinationPath: target)
            await #expect(throws: ChildProcess.Failure.self) { try await compose.run("backup", folder.file(name)) }
        }
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "untouched")
        #expect(!links.fileExists(atPath: folder.file("absent")))
        #expect(try !links.contentsOfDirectory(atPath: folder.path).contains { $0.hasPrefix(".pacebus-") })
    }

    /// Adds an entry to a backup: `x`, or one named below, of a type and mode.
    private static let addition = """
        import io, sys, tarfile
        source, target, kind = sys.argv[1:]
        entry = tarfile.TarInfo("data/secrets/x")
        entry.mode = {"setuid": 0o4700, "setgid": 0o2600, "executable": 0o700, "readable": 0o644}.get(kind, 0o600)
        entry.type = {
            "symlink": tarfile.SYMTYPE, "folder link": tarfile.SYMTYPE, "hard link": tarfile.LNKTYPE,
            "device": tarfile.CHRTYPE, "FIFO": tarfile.FIFOTYPE, "folder": tarfile.DIRTYPE,
        }.get(kind, tarfile.REGTYPE)
        entry.name = {
            "folder link": "data/tls", "folder": "data/exports", "parent": "data/secrets/../../x",
            "configuration": "data/broker/mosquitto.conf", "escape": "data/secrets/\\x1b[2J",
            "line": "data/secrets/a\\n-rw------- 0/0 0 2026-01-01 00:00:00 data/secrets/b",
        }.get(kind, "data/secrets/x")
        entry.linkname = {
            "symlink": "/etc/passwd", "folder link": "/tmp", "hard link": "data/secrets/_operator"
        }.get(kind, "")
        entry.devmajor, entry.devminor = 1, 3
        with tarfile.open(source) as old, tarfile.open(target, "w:gz") as new:
            for member in old.getmembers():
                new.addfile(member, old.extractfile(member) if member.isfile() else None)
            new.addfile(entry)
        """

    @Test func `restore refuses all but regular files with the names and modes of a backup, and changes nothing`()
        async throws
    {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("demo")
        let folder = compose.folder
        let backup = folder.file("backup.tar.gz")
        try await compose.run("backup", backup)
        let program = try folder.write(Self.addition, to: "add.py")
        let before = try FileManager.default.subpathsOfDirectory(atPath: folder.file("data")).sorted()
        for kind in [
            "symlink", "folder link", "hard link", "device", "FIFO", "folder", "setuid", "setgid", "executable",
            "readable", "parent", "configuration", "escape", "line",
        ] {
            let evil = folder.file("evil.tar.gz")
            try await ChildProcess.run(
                [Python.interpreter, program, backup, evil, kind], log: folder.file("python.log"))
            let log = folder.file("\(kind).log")
            let restore = try ChildProcess([folder.file("compose/restore"), "--force", evil], log: log)
            #expect(await restore.finish() == 1, "\(kind)")
            let text = try String(contentsOfFile: log, encoding: .utf8)
            #expect(text.contains("evil.tar.gz holds an unexpected entry: "), "\(kind): \(text)")
            #expect(!text.utf8.contains(0x1B), "\(kind)")
            let after = try FileManager.default.subpathsOfDirectory(atPath: folder.file("data")).sorted()
            #expect(after.filter { $0 != "up.lock" } == before, "\(kind)")
        }
        // The program itself makes no archive that restore refuses.
        try await ChildProcess.run(
            [Python.interpreter, program, backup, folder.file("good.tar.gz"), "file"], log: folder.file("python.log"))
        try await compose.run("restore", "--force", folder.file("good.tar.gz"))
        #expect(try mode(folder.file("data/secrets/x")) == 0o600)
    }
}
