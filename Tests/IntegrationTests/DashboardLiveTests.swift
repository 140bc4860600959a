import Foundation
import MQTT
import TestSupport
import Testing

/// The dashboard of a system that `compose/up` runs, with a simulated runner, seen through its event streams.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct DashboardLiveTests {
    private struct Site {
        let system: ComposeSystem
        let url: String

        /// Runs curl, by default until the server ends the response, and returns what it prints.
        func curl(_ arguments: String..., seconds: Int = 20) async throws -> String {
            let log = system.compose.folder.file("\(UUID().uuidString).log")
            let always = ["curl", "-s", "-N", "-m", "\(seconds)", "-H", "Sec-Fetch-Site: same-origin"]
            // Without an end the time is over, which is no failure.
            _ = try await ChildProcess(always + arguments, log: log).finish()
            return try String(contentsOfFile: log, encoding: .utf8)
        }

        func logIn(_ name: String, _ cookies: String) async throws -> String {
            let password = system.compose.folder.file("data/secrets/\(name)")
            return try await curl(
                "-c", cookies, "-w", "%{http_code}", "--data-urlencode", "name=\(name)", "--data-urlencode",
                "password@\(password)", url + "/login")
        }
    }

    @Test func `a person who logs in sees the own run live, another account does not, and logins survive a restart`()
        async throws
    {
        let system = try ComposeSystem(try ComposeSystem.folder(), hasDemo: true)
        try await system.started()
        let site = Site(system: system, url: try system.url("web"))
        #expect(system.output.contains("Dashboard: \(site.url)\n"))
        #expect(system.output.contains("Log in as demo, with the password in the file data/secrets/demo"))
        #expect(await eventually { system.output.contains("demo: ") })
        let cookies = system.compose.folder.file("cookies")
        #expect(try await site.logIn("demo", cookies).hasSuffix("303"))

        let home = try await site.curl("-b", cookies, site.url + "/events", seconds: 4)
        let marker = #"data: {"user":"demo","session":""#
        let start = try #require(home.firstRange(of: marker), "\(home)")
        let session = home[start.upperBound...].prefix(36)
        let live = try await site.curl("-b", cookies, "\(site.url)/live/demo/\(session)/events", seconds: 5)
        for name in ["bus", "services", "beat", "state", "current", "metrics", "route"] {
            #expect(live.contains("event: \(name)\ndata: {"), "\(name): \(live)")
        }
        #expect(live.components(separatedBy: "event: metrics\n").count > 3)

        let stranger = system.compose.folder.file("stranger")
        let password = try await system.compose.addAccount("ben")
        try system.compose.folder.write(password.value, to: "data/secrets/ben")
        #expect(try await site.logIn("ben", stranger).hasSuffix("303"))
        let status = ["-o", "/dev/null", "-w", "%{http_code}"]
        let refused = try await site.curl(
            status[0], status[1], status[2], status[3], "-b", stranger, "\(site.url)/live/demo/\(session)/events")
        #expect(refused == "404")
        #expect(!(try await site.curl("-b", stranger, site.url + "/events", seconds: 3)).contains("demo"))
        #expect(try await site.curl(status[0], status[1], status[2], status[3], site.url + "/events") == "401")

        #expect(try await system.command("restart", "dashboard").status == 0)
        #expect(
            await eventually {
                (try? await site.curl(status[0], status[1], status[2], status[3], "-b", cookies, site.url + "/logi"))
                    == "404"
            })
        let again = try await site.curl("-b", cookies, "\(site.url)/live/demo/\(session)/events", seconds: 5)
        #expect(again.contains("event: metrics\ndata: {"), "\(again)")
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
        #expect(system.programs == [])
    }
}
