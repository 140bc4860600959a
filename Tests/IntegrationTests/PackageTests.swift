import Foundation
import TestSupport
import Testing
import Workouts

/// The Debian package of `compose/package`. Its services under systemd are not part of these tests.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct PackageTests {
    private static let services = [
        "session-engine", "metrics-aggregator", "route-builder", "weather-fetcher", "exporter",
        "live-activity-publisher", "virtual-run", "importer", "dashboard",
    ]

    /// A package, and its files below the folder `root`.
    private struct Package {
        let compose: ComposeFolder
        let file: String

        func root(_ path: String) -> String { compose.folder.file("root/\(path)") }

        func text(_ path: String) throws -> String { try String(contentsOfFile: root(path), encoding: .utf8) }

        /// Runs a script in the package's folder, and returns its status and what it prints.
        func bash(_ script: String) async throws -> (status: Int32, text: String) {
            let log = compose.folder.file("\(UUID().uuidString).log")
            let process = try ChildProcess(["bash", "-c", "cd \(compose.folder.path) && \(script)"], log: log)
            return (await process.finish(), try String(contentsOfFile: log, encoding: .utf8))
        }
    }

    /// Makes a package of the real `pacebus` and of small programs in the place of the others: debug builds are large.
    private func package() async throws -> Package {
        let compose = try ComposeSystem.folder()
        let bin = compose.folder.file(".build/bin/")
        for name in Self.services + ["device"] {
            try FileManager.default.removeItem(atPath: bin + name)
            try FileManager.default.copyItem(atPath: "/usr/bin/true", toPath: bin + name)
        }
        try "0123456789ab\n".write(toFile: bin + "commit", atomically: false, encoding: .utf8)
        try await compose.run("package")
        let package = Package(
            compose: compose, file: compose.folder.file(".build/pacebus_\(pacebusVersion)_amd64.deb"))
        try await ChildProcess.run(
            ["dpkg-deb", "-x", package.file, package.root("")], log: compose.folder.file("x.log"))
        return package
    }

    private func hasTool(_ name: String) async throws -> Bool {
        let process = try ChildProcess(["bash", "-c", "PATH=$PATH:/usr/sbin type \(name)"], log: "/dev/null")
        let isThere = await process.finish() == 0
        if !isThere { print("skipped: \(name) is not on the PATH") }
        return isThere
    }

    @Test func `a package has executables without symbols, commands under its own name, and hardened units`()
        async throws
    {
        let package = try await package()
        let files = FileManager.default
        for name in Self.services + ["device", "pacebus"] {
            let path = package.root("usr/lib/pacebus/bin/\(name)")
            #expect(files.isExecutableFile(atPath: path), "\(name)")
            #expect(try await package.bash("! readelf -S \(path) | grep -F .symtab").status == 0, "\(name)")
        }
        #expect(try package.text("usr/lib/pacebus/bin/commit") == "0123456789ab\n")
        #expect(!files.fileExists(atPath: package.root("etc/pacebus/pacebus.conf")))
        #expect(
            try files.destinationOfSymbolicLink(atPath: package.root("usr/lib/pacebus/data")) == "/var/lib/pacebus")
        for name in ["backup", "logs", "restart", "restore", "scale", "status", "user"] {
            let help = try await package.bash("root/usr/sbin/pacebus-admin \(name) --help")
            #expect(help.status == 0, "\(name): \(help.text)")
            #expect(help.text.contains("usage: pacebus-admin \(name)"), "\(name): \(help.text)")
            #expect(!help.text.contains("compose/\(name)"), "\(name): \(help.text)")
        }

        let warnings = try await package.bash(
            """
            printf '%s\\n' '# LISTN=a' LISTEN=a BACKUP_FOLDER=b LISTN=c 'WEATHER PROVIDER=none' >pacebus.conf
            cd root/usr/lib/pacebus/compose
            sed "s|^settings=.*|settings=$OLDPWD/pacebus.conf|" admin >admin-of-test
            bash admin-of-test --help 2>&1 >/dev/null
            """)
        let lines = warnings.text.split(separator: "\n").map { $0.replacing(/of \S*/, with: "of the file") }
        #expect(
            lines == [
                "pacebus-admin: line 4 of the file there is no setting LISTN",
                "pacebus-admin: line 5 of the file is not NAME=VALUE; ignored",
            ])

        let accounts = try package.text("usr/lib/sysusers.d/pacebus.conf")
        let target = try package.text("usr/lib/systemd/system/pacebus.target")
        for service in Self.services {
            #expect(accounts.contains("u pacebus-\(service) "), "\(service)")
            #expect(target.contains(" pacebus@\(service).service "), "\(service)")
            let replica = try package.text("usr/lib/systemd/system/pacebus@\(service)-9.service.d/account.conf")
            #expect(replica == "[Service]\nUser=pacebus-\(service)\n")
        }
        let unit = try package.text("usr/lib/systemd/system/pacebus@.service")
        for line in ["Type=notify", "WatchdogSec=20", "WatchdogSignal=SIGKILL", "Restart=always"] {
            #expect(unit.contains("\n\(line)\n"), "\(line)")
        }
        guard try await hasTool("systemd-analyze") else { return }
        for unit in ["@exporter", "@exporter-2", "-backup", "-postgres", "-prepare", "-watch"] {
            let (status, text) = try await package.bash(
                "systemd-analyze security --offline=yes --threshold=25 --root=$PWD/root pacebus\(unit).service")
            #expect(status == 0, "\(unit): \(text)")
        }
        // The programs are not at their places.
        let problems = try await package.bash(
            """
            export SYSTEMD_UNIT_PATH=$PWD/root/usr/lib/systemd/system:/usr/lib/systemd/system
            systemd-analyze verify pacebus.target pacebus@exporter-2.service pacebus-backup.timer pacebus-watch.service 2>&1 |
                grep pacebus | grep -v 'is not executable: No such file'
            """)
        #expect(problems.text == "")
    }

    @Test func `removal leaves data and settings, and purge removes all`() async throws {
        let package = try await package()
        guard geteuid() == 0 else { return print("skipped: dpkg needs root") }
        guard try await hasTool("systemd-sysusers"), try await hasTool("deb-systemd-helper") else { return }
        // The scripts run outside of the root, which has neither programs nor the packages that this one needs.
        let dpkg = "dpkg --root=$PWD/installed --log=$PWD/dpkg.log --force-script-chrootless --force-depends"
        let setUp =
            "mkdir -p installed/var/lib/dpkg/{info,updates,triggers} && touch installed/var/lib/dpkg/{status,available}"
        func exists(_ path: String) -> Bool {
            FileManager.default.fileExists(atPath: package.compose.folder.file("installed/\(path)"))
        }
        // The second is an upgrade.
        for script in [setUp, "\(dpkg) --install \(package.file)", "\(dpkg) --install \(package.file)"] {
            let (status, text) = try await package.bash(script)
            try #require(status == 0, "\(text)")
        }
        let accounts = try await package.bash("grep -c ^pacebus- installed/etc/passwd")
        #expect(accounts.text == "\(Self.services.count)\n")
        #expect(try await package.bash("stat -c %a installed/etc/pacebus/pacebus.conf").text == "600\n")
        #expect(
            try await package.bash("test -L installed/etc/systemd/system/multi-user.target.wants/pacebus.target").status
                == 0)

        _ = try await package.bash("echo a >installed/var/lib/pacebus/a; echo A=1 >>installed/etc/pacebus/pacebus.conf")
        let removed = try await package.bash("\(dpkg) --remove pacebus")
        #expect(removed.status == 0, "\(removed.text)")
        #expect(!exists("usr/lib/pacebus"))
        #expect(exists("var/lib/pacebus/a"))
        #expect(try await package.bash("grep -x A=1 installed/etc/pacebus/pacebus.conf").status == 0)

        let purged = try await package.bash("\(dpkg) --purge pacebus")
        #expect(purged.status == 0, "\(purged.text)")
        #expect(!exists("var/lib/pacebus"))
        #expect(!exists("etc/pacebus"))
        #expect(try await package.bash("grep ^pacebus- installed/etc/passwd").text == "")
    }
}
