import Foundation
import MQTT
import TestSupport
import Testing

/// Two dashboards behind HAProxy, without PostgreSQL.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct DashboardReplicaTests {
    @Test func `a login counts at both dashboards, and one that is killed or hangs keeps nobody out`() async throws {
        let compose = try ComposeSystem.folder()
        let anna = try await compose.addAccount("anna").value
        let system = try await ComposeSystem.run(compose, ["--scale", "dashboard=2"])
        defer {
            system.process.send(SIGCONT)
            system.process.end(SIGTERM)
        }
        let (url, cookies) = (try system.url("web"), compose.folder.file("cookies"))
        func curl(_ path: String, _ arguments: String...) async throws -> String {
            let output = try await ChildProcess.output(
                of: [
                    "curl", "-sS", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}", "-b", cookies, "-c", cookies,
                    "-H", "Sec-Fetch-Site: same-origin", url + path,
                ] + arguments)
            return String(decoding: output, as: UTF8.self)
        }
        #expect(try await curl("/login", "-d", "name=anna&password=\(anna)") == "204")
        // A dead one is noticed at once, a frozen one within some seconds.
        for (signal, name) in [(SIGKILL, "dashboard"), (SIGKILL, "dashboard-2"), (SIGSTOP, "dashboard")] {
            #expect(await eventually { (try? await system.command("status").status) == 0 }, "\(system.output)")
            // compose/up starts it again later.
            system.process.send(SIGSTOP)
            kill(try #require(system.ids[name]), signal)
            if signal == SIGSTOP { #expect(try await eventually { try await curl("/me") == "200" }) }
            for _ in 0..<3 { #expect(try await curl("/me") == "200", "\(name)") }
            system.process.send(SIGCONT)
        }

        #expect(await eventually { (try? await system.command("status").status) == 0 }, "\(system.output)")
        system.process.send(SIGSTOP)
        kill(try #require(system.ids["mosquitto"]), SIGKILL)
        #expect(await eventually { (try? await system.get("web-proxy", "/readyz")) == "not ready: dashboard\n" })
        #expect(try await curl("/me") == "200", "without a broker pages still say so")
        system.process.send(SIGCONT)
        let scaled = try await system.command("scale", "dashboard=1")
        #expect(scaled.status == 1 && scaled.output.contains("--scale dashboard=1"), "\(scaled.output)")
    }
}
