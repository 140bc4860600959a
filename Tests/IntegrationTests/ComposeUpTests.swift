import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// `compose/up` and the commands for the system it runs.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ComposeUpTests {
    @Test func `killed processes start again, and Ctrl-C stops everything`() async throws {
        let system = try await ComposeSystem.run(nil, ["--listen", "127.0.0.1"])
        let killed = ["mosquitto", "session-engine", "dashboard", "haproxy"]
        let before = system.ids
        #expect(before.count == 11)
        for name in killed { kill(try #require(before[name]), SIGKILL) }
        for name in killed {
            #expect(await eventually { system.output.contains("\(name) ended unexpectedly and starts again in 1 s") })
        }
        #expect(await eventually { (try? await system.command("status").status) == 0 }, "\(system.output)")
        let after = system.ids
        for (name, id) in before { #expect((after[name] != id) == killed.contains(name), "\(name)") }

        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
        #expect(after.values.allSatisfy { kill($0, 0) != 0 })
        #expect(system.programs == [])
    }

    @Test func `with an exported MQTT_URL the simulated run works, and Ctrl-C ends it with its files`()
        async throws
    {
        // The README's `export` line, with the password file of an earlier installation.
        let shell = ["MQTT_URL=mqtt://demo@127.0.0.1:1", "MQTT_PASSWORD_FILE=/nowhere", "MQTT_CA_FILE=/nowhere"]
        let system = try ComposeSystem(try ComposeSystem.folder(), environment: shell, hasDemo: true)
        try await system.started()
        #expect(await eventually { system.output.contains("demo: ") })
        // What shows logs and metrics may wait for the reader of the output. The folder is not locked meanwhile.
        var claimants: [String] = []
        let isLeft = try await eventually(within: .seconds(20)) {
            claimants = try await system.claimants()
            return claimants.contains("device") && claimants.count { $0 == "bash" } == 1 && !claimants.contains("grep")
        }
        #expect(isLeft, "\(claimants)")
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
        #expect(system.output.contains("demo: files in data/exports/demo (fit)"))
        #expect(system.programs == [])
    }

    @Test func `simulated runners run together, and their lines show the gaps`() async throws {
        let system = try ComposeSystem(try ComposeSystem.folder(), ["--runners", "2"], hasDemo: true)
        try await system.started()
        let isTogether = await eventually {
            system.output.contains("· demo-2 ") && system.output.contains("· demo ")
        }
        #expect(isTogether, "\(system.output)")
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
        for user in ["demo", "demo-2"] {
            #expect(system.output.contains("\(user): files in data/exports/\(user) (fit)"))
        }
        #expect(system.programs == [])
    }

    /// A function of compose alone, with the names of another machine.
    @Test(arguments: [
        ("127.0.0.1", "", "http://127.0.0.1:8443"), ("::1", "", "http://[::1]:8443"),
        ("192.0.2.1", "server.crt", "https://192.0.2.1:8443"), ("0.0.0.0", "server.crt", "https://192.0.2.2:8443"),
    ])
    func `the dashboard's address is one that a browser can open`(
        host: String, certificate: String, expected: String
    ) async throws {
        let folder = try ComposeFolder().folder
        let script = """
            set -euo pipefail
            cd \(folder.path)
            source compose/common.sh
            source compose/certificates.sh
            eval "$(sed -n '/^web_url() {/,/^}/p' compose/services.sh)"
            hostname() { echo 192.0.2.2; }
            declare -A ports=([web]=8443)
            web_settings=() web_address=\(host) TLS_CERT_FILE=\(certificate) PUBLIC_URL=
            web_url
            """
        try await ChildProcess.run(["bash", "-c", script], log: folder.file("log"))
        #expect(try String(contentsOfFile: folder.file("log"), encoding: .utf8) == expected + "\n")
    }

    @Test func `a process that ends starts again after a second`() async throws {
        let folder = try ComposeFolder().folder
        let script = """
            set -euo pipefail
            cd \(folder.path)
            source compose/common.sh
            source compose/processes.sh
            source compose/health.sh
            source compose/supervision.sh
            mkdir -p data/run data/log
            : >data/log/x.log
            supervised=(x)
            clock=0 runs_until=0
            read_uptime() { now=$clock; }
            is_running() { [[ -v pids[x] ]] && ((clock < runs_until)); }
            launch() { pids[x]=1 && echo "$clock"; }
            say() { :; }
            note_start x
            pids[x]=1
            while ((clock < 4)); do supervise x; clock=$((clock + 1)); done
            runs_until=20
            while ((clock < 25)); do supervise x; clock=$((clock + 1)); done
            """
        let log = folder.file("log")
        try await ChildProcess.run(["bash", "-c", script], log: log)
        let times = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").compactMap { Int($0) }
        // One second more each: the next look notices that it has ended.
        #expect(times == [1, 3, 21, 23])
    }

    @Test func `with --listen the dashboard is reached over TLS alone, with the certificate of the broker`()
        async throws
    {
        let compose = try ComposeSystem.folder()
        let port = try LoopbackSocket.freePort()
        let system = try await ComposeSystem.run(compose, ["--listen", "127.0.0.1", "--https-port", "\(port)"])
        defer { system.process.end(SIGTERM) }
        let url = try system.url("web")
        #expect(url == "https://127.0.0.1:\(port)")
        #expect(system.output.contains("Dashboard: \(url)\n"))
        #expect(system.output.contains("Browsers open \(url)"))
        let anna = try await compose.addAccount("anna").value
        func curl(_ arguments: String...) async throws -> String { try await curl(arguments) }
        func curl(_ arguments: [String]) async throws -> String {
            let log = compose.folder.file("\(UUID().uuidString).log")
            _ = try await ChildProcess(["curl", "-s", "-m", "20", "-o", "/dev/null"] + arguments, log: log).finish()
            return try String(contentsOfFile: log, encoding: .utf8)
        }
        let (ca, cookies) = (compose.folder.file("data/tls/ca.crt"), compose.folder.file("cookies"))
        let login = try await curl(
            "--cacert", ca, "-c", cookies, "-H", "Sec-Fetch-Site: same-origin", "-w", "%{http_version} %{http_code}",
            "-d", "name=anna&password=\(anna)", "\(url)/login")
        #expect(login == "2 204")
        #expect(try String(contentsOfFile: cookies, encoding: .utf8).contains("__Host-pacebus\t"))
        #expect(try await curl("--cacert", ca, "-b", cookies, "-w", "%{http_code}", "\(url)/nothing") == "404")
        // Requests with no Host header, with one and with two, which curl does not send.
        for (headers, code) in [("", "400"), (#"Host: a\r\n"#, "200"), (#"Host: a\r\nHost: b\r\n"#, "400")] {
            let log = compose.folder.file("\(UUID().uuidString).log")
            let request = #"GET /login HTTP/1.1\r\n\#(headers)Connection: close\r\n\r\n"#
            let client = "printf '\(request)' | openssl s_client -quiet -connect 127.0.0.1:\(port)"
            _ = try await ChildProcess(["timeout", "20", "bash", "-c", client], log: log).finish()
            let text = try String(contentsOfFile: log, encoding: .utf8)
            #expect(text.contains("HTTP/1.1 \(code)"), "\(headers): \(text)")
        }
        try await expectModernTLS(port, compose.folder)
        // Without TLS, and with an authority that does not know it.
        #expect(try await curl("-w", "%{http_code}", "http://127.0.0.1:\(port)/login") == "000")
        #expect(try await curl("-w", "%{http_code}", "\(url)/login") == "000")
        #expect(try system.url("dashboard").hasPrefix("http://127.0.0.1:"))
        #expect(try await system.get("dashboard", "/readyz").contains("ready"))
        #expect(try await system.command("restart", "dashboard").status == 0)
        let isBack = await eventually {
            (try? await curl("--cacert", ca, "-b", cookies, "-w", "%{http_code}", "\(url)/nothing")) == "404"
        }
        #expect(isBack)
    }

    @Test func `warnings of this run appear also as JSON, and none of the run before`() async throws {
        let compose = try ComposeSystem.folder()
        try FileManager.default.createDirectory(
            atPath: compose.folder.file("data/log"), withIntermediateDirectories: true)
        for name in ["session-engine", "runner", "haproxy", "exporter"] {
            try compose.folder.write("2026-01-01T00:00:00Z error \(name): an old error\n", to: "data/log/\(name).log")
        }
        let system = try await ComposeSystem.run(compose, environment: ["LOG_FORMAT=json"])
        defer { system.process.end(SIGTERM) }
        kill(try #require(system.ids["mosquitto"]), SIGKILL)
        #expect(await eventually { system.output.contains(#""message":"connection failed, retrying""#) })
        #expect(!system.output.contains("an old error"))
    }

    @Test func `the log of each service is rotated while it runs, and the service continues in it`() async throws {
        let system = try await ComposeSystem.run()
        defer { system.process.end(SIGTERM) }
        let names = system.ids.keys.filter { $0 != "mosquitto" }
        func path(_ name: String) -> String { system.compose.folder.file("data/log/\(name)") }
        func size(_ name: String) -> Int {
            (try? FileManager.default.attributesOfItem(atPath: path(name))[.size] as? Int) ?? 0
        }
        let line = String(repeating: "x", count: 1_023) + "\n"
        for name in names {
            let log = try #require(FileHandle(forWritingAtPath: path("\(name).log")))
            try log.seekToEnd()
            try log.write(contentsOf: Data(String(repeating: line, count: 10 << 10).utf8))
            try log.close()
        }
        for name in names {
            #expect(await eventually { size("\(name).log.1") >= 10 << 20 && size("\(name).log") < 1 << 20 }, "\(name)")
        }
        kill(try #require(system.ids["mosquitto"]), SIGKILL)
        for name in names {
            #expect(
                await eventually {
                    let text = try? String(contentsOfFile: path("\(name).log"), encoding: .utf8)
                    return text?.contains("connection failed, retrying") == true
                }, "\(name)")
            #expect(size("\(name).log") < 1 << 20, "\(name)")
        }
    }

    @Test func `status, logs, restart and stop`() async throws {
        let compose = try ComposeSystem.folder()
        for name in ["status", "stop", "restart", "logs"] {
            let arguments = name == "restart" || name == "logs" ? ["exporter"] : []
            let log = compose.folder.file("\(name).log")
            let process = try ChildProcess([compose.folder.file("compose/\(name)")] + arguments, log: log)
            #expect(await process.finish() == 1, "\(name)")
            #expect(try String(contentsOfFile: log, encoding: .utf8).contains("compose/up"), "\(name)")
            #expect(try await compose.run(name, "--help").hasPrefix("usage: compose/\(name)"))
        }
        let system = try await ComposeSystem.run(compose)
        let (status, text) = try await system.command("status")
        #expect(status == 0, "\(text)")
        let lines = text.split(separator: "\n")
        // State, process id, port, uptime, memory, shards of an owner, restarts.
        let row = /\S+ +(ready|running) +\d+ +\d{2,5} +\d+:\d\d:\d\d +[1-9]\d* MiB +(256 +)?0/
        for (name, id) in system.ids {
            let isListed = lines.contains { line in
                line.hasPrefix("\(name) ") && line.contains(" \(id) ") && line.wholeMatch(of: row) != nil
            }
            #expect(isListed, "\(name): \(text)")
        }
        #expect(lines.filter { $0.contains(" 256 ") }.count == 8, "\(text)")

        for name in system.ids.keys where name != "mosquitto" {
            let metrics = try await system.get(name, "/metrics")
            let build = "pacebus_build_info{commit=\"unknown\",version=\"\(pacebusVersion)\"} 1\n"
            #expect(metrics.contains(build), "\(name)")
            #expect(name == "dashboard" || metrics.contains("\npacebus_store_bytes "), "\(name)")
            #expect(name == "dashboard" || metrics.contains("\npacebus_disk_free_bytes "), "\(name)")
            for line in metrics.split(separator: "\n") where line.hasPrefix("# TYPE ") {
                #expect(line.contains("_total ") == line.hasSuffix(" counter"), "\(name): \(line)")
            }
            if let verdict = try Promtool.check(metrics) { #expect(verdict == "exit 0\n", "\(name)") }
        }

        let before = system.ids
        #expect(try await system.command("restart", "exporter").status == 0)
        #expect(system.ids["exporter"] != before["exporter"])
        #expect(!system.output.contains("exporter ended unexpectedly"))
        let unknown = try await system.command("restart", "nothing")
        #expect(unknown.status == 1)
        #expect(unknown.output.contains("running: mosquitto, session-engine"))

        #expect(try await system.command("logs", "exporter").output.contains(" starting "))
        #expect(try await system.command("logs", "nothing").output.contains("available:"))
        let (stopStatus, _) = try await system.command("stop")
        #expect(stopStatus == 0)
        #expect(await system.process.finish() == 0)
        #expect(before.values.allSatisfy { kill($0, 0) != 0 })
    }
}
