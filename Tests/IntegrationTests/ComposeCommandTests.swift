import Foundation
import TestSupport
import Testing

/// Parts of the commands that need no running system.
@Suite(.timeLimit(.minutes(60)))
struct ComposeCommandTests {
    /// Runs a script in an installation and returns what it prints.
    private func run(_ script: String, in folder: TemporaryFolder) async throws -> String {
        let first = ["set -euo pipefail", "cd \(folder.path)", "source compose/common.sh", "need_data"]
        let log = folder.file("\(UUID().uuidString).log")
        try await ChildProcess.run(["bash", "-c", (first + [script]).joined(separator: "\n")], log: log)
        return try String(contentsOfFile: log, encoding: .utf8)
    }

    /// Runs a command of an installation with a setting and returns its exit status and its output.
    private func command(
        _ name: String, _ arguments: String..., setting: String = "X=", in folder: TemporaryFolder
    ) async throws -> (status: Int32, output: String) {
        let log = folder.file("\(UUID().uuidString).log")
        let process = try ChildProcess(["env", setting, folder.file("compose/\(name)")] + arguments, log: log)
        return (await process.finish(), try String(contentsOfFile: log, encoding: .utf8))
    }

    // MARK: Stopping

    @Test func `stop ends a build that compose/up runs`() async throws {
        let folder = try ComposeFolder().folder
        // As swift does, it ends on SIGINT even if that was ignored.
        let swift = """
            #!/usr/bin/env python3
            import os, signal, sys
            if sys.argv[1] == "build":
                signal.signal(signal.SIGINT, lambda *_: sys.exit(1))
                open("building.new", "w").write(str(os.getpid()))
                os.rename("building.new", "building")
                while True:
                    signal.pause()

            """
        for name in ["programs", "Services", "Shared"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
        }
        let program = try folder.write(swift, to: "programs/swift")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        for name in ["Package.swift", "Package.resolved", "Services/x", "Shared/x"] { try folder.write("", to: name) }
        let path = "\(folder.file("programs")):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
        let up = try ChildProcess(["env", "PATH=\(path)", folder.file("compose/up")], log: folder.file("up.log"))
        defer { up.end(SIGKILL) }
        var build: Int32?
        _ = await eventually {
            build = (try? String(contentsOfFile: folder.file("building"), encoding: .utf8)).flatMap { Int32($0) }
            return build != nil
        }
        let id = try #require(build, "\((try? String(contentsOfFile: folder.file("up.log"), encoding: .utf8)) ?? "")")
        let stopped = ContinuousClock.now
        let (status, output) = try await command("stop", in: folder)
        #expect(status == 0 && output == "Stopped.\n", "\(output)")
        #expect(ContinuousClock.now - stopped < .seconds(10))
        #expect(kill(id, 0) != 0)
        #expect(await up.finish() == 143)
    }

    @Test func `stop ends a hung process that a killed compose/up left`() async throws {
        let folder = try ComposeFolder().folder
        _ = try await run(
            """
            (
                claim_data
                (trap '' TERM; echo "$BASHPID" >hung.new; mv hung.new hung; exec sleep 600) &
                say "$BASHPID up" >data/up.lock
            )
            """, in: folder)
        var hung: Int32?
        _ = await eventually {
            hung = (try? String(contentsOfFile: folder.file("hung"), encoding: .utf8))
                .flatMap { Int32($0.trimmingCharacters(in: .newlines)) }
            return hung != nil
        }
        let id = try #require(hung)
        defer { kill(id, SIGKILL) }
        let (status, output) = try await command("stop", in: folder)
        #expect(status == 0 && output == "Stopped.\n", "\(output)")
        #expect(try await run("source compose/state.sh; claimants || true", in: folder) == "")
    }

    // MARK: Ports

    @Test func `a port that browsers refuse is never chosen`() async throws {
        let folder = try ComposeFolder().folder
        let script = """
            source compose/processes.sh
            is_taken() { false; }
            choose_port web 10080
            for port in 6665 4190 8080; do free_port "$port"; done
            """
        let output = try await run(script, in: folder)
        #expect(
            output == """
                Port 10080 is one that browsers refuse; web listens on 10081
                6670
                4191
                8080

                """)
        let refused = try await command("up", "--listen", "127.0.0.1", "--https-port", "10080", in: folder)
        #expect(refused.status == 1)
        #expect(refused.output.contains("invalid --https-port '10080': browsers refuse this port"))
    }

    // MARK: Accounts

    private func read(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    @Test func `a password goes to a new file of mode 600, and a refused command changes neither file nor account`()
        async throws
    {
        let folder = try ComposeFolder().folder
        let file = folder.file("ben")
        let added = try await command("user", "add", "ben", "--password-file", file, in: folder)
        let first = try #require(read(file))
        #expect(added.status == 0 && added.output.contains("MQTT_PASSWORD_FILE=\(file)"))
        #expect(first.count == 48 && !added.output.contains(first))
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)

        let again = try await command("user", "add", "ben", "--password-file", file, in: folder)
        #expect(again.status == 1 && again.output.contains("account 'ben' exists already"))
        let other = try await command("user", "add", "anna", "--password-file", file, in: folder)
        #expect(other.status == 1 && other.output.contains("\(file) exists already"))
        let nowhere = try await command("user", "add", "anna", "--password-file", "/nowhere/x", in: folder)
        #expect(nowhere.status == 1 && nowhere.output.contains("cannot create a file in /nowhere"))
        #expect(read(file) == first)
        #expect(try await command("user", "list", in: folder).output == "ben\n")

        #expect(try await command("user", "password", "ben", "--password-file", file, in: folder).status == 0)
        #expect(read(file)?.count == 48 && read(file) != first)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(!left.contains { $0.hasPrefix(".pacebus-") })
    }

    @Test func `purge knows the accounts, and asks for the name`() async throws {
        let folder = try ComposeFolder().folder
        try #require(try await command("user", "add", "anna", in: folder).status == 0)
        func isOrdered(_ name: String) -> Bool { read(folder.file("data/purge/\(name)")) != nil }
        func answer(_ text: String) async throws -> Int32 {
            let line = "printf '%s\\n' '\(text)' | \(folder.file("compose/user")) purge anna"
            return await (try ChildProcess(["bash", "-c", line], log: folder.file("answer.log"))).finish()
        }
        let unknown = try await command("user", "purge", "ana", "--yes", in: folder)
        #expect(unknown.status == 1 && unknown.output.contains("unknown account 'ana'") && !isOrdered("ana"))
        let unanswered = try await command("user", "purge", "anna", in: folder)
        #expect(unanswered.status == 1 && unanswered.output.contains("nothing removed"))
        #expect(try await answer("y") == 1)
        #expect(!isOrdered("anna"))
        #expect(try await answer("anna") == 0)
        #expect(isOrdered("anna"))
        #expect(try await command("user", "purge", "ana", "--removed", "--yes", in: folder).status == 0)
        #expect(isOrdered("ana"))
    }

    // MARK: Full disk

    @Test func `on a full disk each command ends with a sentence that names the disk, and loses nothing`() async throws
    {
        let folder = try ComposeFolder().folder
        guard let disk = SmallDisk(folder, megabytes: 8) else {
            print("commands on a full disk: skipped, mounting a small disk needs root")
            return
        }
        defer { disk.unmount() }
        try FileManager.default.createDirectory(atPath: disk.path + "/data", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: folder.file("data"), withDestinationPath: "disk/data")
        try #require(try await command("user", "add", "ben", in: folder).status == 0)
        try #require(try await command("backup", folder.file("backup.tar.gz"), in: folder).status == 0)
        let accounts = try #require(read(folder.file("data/broker/passwords")))
        try disk.fill()
        for arguments in [
            ["user", "add", "anna"], ["user", "password", "ben"], ["user", "rotate-services"], ["backup"],
            ["backup", folder.file("later.tar.gz")], ["restore", "--force", folder.file("backup.tar.gz")],
            ["up", "--no-demo"],
        ] {
            let log = folder.file("\(UUID().uuidString).log")
            let process = try ChildProcess([folder.file("compose/\(arguments[0])")] + arguments.dropFirst(), log: log)
            #expect(await process.finish() == 1, "\(arguments)")
            let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            let sentence = "compose/\(arguments[0]): the disk of \(disk.path)/data is full (0 KiB free); delete files"
            #expect(lines.count { $0.hasPrefix(sentence) } == 1, "\(arguments): \(lines)")
        }
        #expect(read(folder.file("data/broker/passwords")) == accounts)
        try disk.makeRoom()
        #expect(try await command("user", "list", in: folder).output == "ben\n")
    }

    // MARK: Logs

    @Test func `a replica has its own name in its log`() async throws {
        let folder = try ComposeFolder().folder
        let script = """
            source compose/processes.sh
            source compose/accounts.sh
            source compose/services.sh
            partitions=1
            ports=([mqtt]=1883 [exporter-2]=9102)
            mkdir -p data/log
            : >data/log/exporter-2.log
            start() { printf '%s\\n' "$@"; }
            launch_service exporter-2
            grep -E '^(LOG_NAME|.build)' data/log/exporter-2.log
            """
        #expect(try await run(script, in: folder) == "LOG_NAME=exporter-2\n.build/bin/exporter\n")
    }

    // MARK: The demo's lines

    @Test func `the demo's lines are of its own session, and not of another one of the account`() async throws {
        let folder = try ComposeFolder().folder
        let (own, other) = ("\(UUID())".lowercased(), "\(UUID())".lowercased())
        let script = """
            eval "$(sed -n '/^session_of() /p; /^print_metrics() {/,/^}/p; /^print_weather() {/,/^}/p; /^read_whole() /p; \
            /^read_partners() {/,/^}/p; /^clock() /p' compose/up)"
            declare -A users=([runner]=demo)
            mkdir -p data/log
            say "session \(own) of demo, device watch-1" >data/log/runner.log
            print_metrics runner <<'END'
            pacebus/v1/s/demo/\(other)/metrics {"t":3600,"d":9000}
            pacebus/v1/s/demo/\(own)/metrics {"t":21,"d":50}
            END
            print_weather runner <<'END'
            pacebus/v1/s/demo/\(other)/weather {"temperature":30,"condition":"Rain"}
            pacebus/v1/s/demo/\(own)/weather {"temperature":12,"condition":"Clear"}
            END
            """
        #expect(try await run(script, in: folder) == "demo:     0:21    0.05 km\ndemo: 12 °C, Clear\n")
    }
}
