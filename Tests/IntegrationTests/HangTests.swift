import Foundation
import TestSupport
import Testing

/// What `compose/up` does about processes that hang, and about its data folder.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct HangTests {
    /// The children of a process.
    private func children(of id: Int32) throws -> [Int32] {
        try String(contentsOfFile: "/proc/\(id)/task/\(id)/children", encoding: .utf8).split(separator: " ")
            .compactMap { Int32($0) }
    }

    /// - Parameter kinds: a process of each kind; `nil` freezes all.
    @Test(
        .enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"),
        arguments: [["mosquitto", "metrics-aggregator", "dashboard", "haproxy", "postgres"], nil])
    func `processes that are frozen are named, and work again within 40 s`(kinds: [String]?) async throws {
        let system = try await ComposeSystem.run(nil, ["--listen", "127.0.0.1", "--postgres"])
        defer { system.process.end(SIGTERM) }
        let before = system.ids
        let names = kinds ?? before.keys.sorted()
        let start = ContinuousClock.now
        for name in names {
            let id = try #require(before[name])
            // HAProxy works in a child, which the supervisor must find.
            for frozen in name == "haproxy" ? try children(of: id) : [id] { kill(frozen, SIGSTOP) }
        }
        let status = try await system.command("status")
        #expect(status.status == 1)
        #expect(status.output.contains(#/mosquitto +hung /#), "\(status.output)")
        let haveEnded = await eventually(within: .seconds(60)) {
            let ids = system.ids
            return names.allSatisfy { ids[$0] != before[$0] && ids[$0] != 0 }
        }
        let isWell = await eventually(within: .seconds(60)) {
            (try? await system.command("status").status) == 0
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print("frozen processes work again after \(seconds) s")
        #expect(haveEnded && isWell && seconds < 40, "\(seconds) s: \(system.output)")
        for name in names { #expect(system.output.contains("\(name) hangs and is killed\n"), "\(name)") }
        // Those that only wait for the frozen ones are left alone.
        for (name, id) in before where !names.contains(name) { #expect(system.ids[name] == id, "\(name)") }
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
        #expect(system.programs == [])
    }

    @Test func `compose/up ends with everything it started when its data folder is removed`() async throws {
        let system = try await ComposeSystem.run()
        // Services create files in it until they notice.
        try await ChildProcess.run(
            ["rm", "-rf", system.compose.folder.file("data")], log: system.compose.folder.file("rm.log"))
        #expect(await system.process.finish() == 1)
        #expect(system.output.contains("data was removed or replaced, and everything has ended; restore a backup"))
        #expect(await eventually { system.programs == [] }, "\(system.programs)")
    }

    /// The functions of compose/up with a clock of the test.
    private func lines(_ body: String) async throws -> [String] {
        let folder = try ComposeFolder().folder
        let script = """
            set -euo pipefail
            cd \(folder.path)
            source compose/common.sh
            source compose/processes.sh
            source compose/health.sh
            mkdir -p data/run data/log
            supervised=(x)
            ports[x]=1 pids[x]=1 clock=0
            read_uptime() { now=$clock; }
            is_running() { [[ -v pids[x] ]]; }
            kill_now() { echo "killed at $clock" && unset 'pids[x]'; }
            say() { :; }
            note_start x
            # run_until TIME: looks each second, and lets each job end before the next look.
            run_until() {
                while ((clock < $1)); do
                    look_at x
                    if [[ -v looks[x] ]]; then while kill -0 "${looks[x]}" 2>/dev/null; do sleep 0.01; done; fi
                    clock=$((clock + 1))
                done
            }
            \(body)
            """
        let log = folder.file("log")
        try await ChildProcess.run(["bash", "-c", script], log: log)
        return try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test func `a process is killed after two looks in a row without an answer, and not after single ones`()
        async throws
    {
        let killed = try await lines(
            """
            answers() { ((clock % 10)); }
            run_until 100
            answers() { return 1; }
            run_until 120
            """)
        #expect(killed == ["killed at 107"])
    }

    @Test func `a process that has not answered since its start has ten minutes`() async throws {
        #expect(try await lines("answers() { return 1; } && run_until 700") == ["killed at 602"])
    }
}
