import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// Two dashboards behind HAProxy: one serves, the other stands by.
@Suite(
    .serialized, .enabled(if: PostgresServer.isInstalled),
    .enabled(if: ProcessInfo.processInfo.environment["WEB_FOLDER"] != nil, "needs WEB_FOLDER"), .timeLimit(.minutes(60))
)
struct DashboardReplicaTests {
    /// The dashboard that owns the records.
    private func serving(_ system: ComposeSystem) async throws -> String {
        var found: [String] = []
        let isOne = await eventually {
            found = []
            for name in ["dashboard", "dashboard-2"] {
                let metrics = try? await system.get(name, "/metrics")
                if metrics?.contains("\npacebus_shards_owned 256\n") == true { found.append(name) }
            }
            return found.count == 1
        }
        guard isOne else { throw ComposeFolder.Failure(text: "\(found) serve: \(system.output)") }
        return found[0]
    }

    @Test func `after the death of a dashboard its logins, streams and presses go on at the other`() async throws {
        let compose = try ComposeSystem.folder()
        let anna = try await compose.addAccount("anna")
        let system = try await ComposeSystem.run(compose, ["--postgres", "--scale", "dashboard=2"])
        defer { system.process.end(SIGTERM) }
        let web = DashboardProcess(port: try system.port(of: "web"), cookiesIn: compose.folder)
        #expect(try await web.logIn("anna", anna.value) == 303)
        let key = SessionKey(try #require(User("anna")), SessionID(UUID()))
        let path = "/live/anna/\(key.session)"
        let started = try await web.press(
            "start", #","session":"\#(key.session)","activity":"running","countdown":0"#, to: "/commands",
            pressed: Date(), as: "anna")
        #expect(started.ok)

        // compose/up starts nothing again for now: no broker delivers End before the dashboard that took it is dead.
        let first = try await serving(system)
        system.process.send(SIGSTOP)
        kill(try #require(system.ids["mosquitto"]), SIGKILL)
        let end = #"{"id":"\#(UUID().uuidString)","type":"end","age":0}"#
        #expect(try await web.post(path + "/commands", json: end, as: "anna").status == 202)
        kill(try #require(system.ids[first]), SIGKILL)
        let isBack = try await eventually { try await web.get(path, as: "anna").status == 200 }
        #expect(isBack, "\(system.output)")
        #expect(try await web.read(path + "/events", as: "anna", seconds: 1).hasPrefix("event: bus\n"))
        system.process.send(SIGCONT)

        // Nothing posts End again: the other dashboard sends it.
        try await system.observe { observer in
            let payload = try await observer.wait(for: Topic.session(key, .state).name) { payload in
                (try? JSONCoding.decode(SessionState.self, from: payload))?.endedAt != nil
            }
            let state = try JSONCoding.decode(SessionState.self, from: payload)
            struct Body: Decodable { let reply: Reply }
            var reply: Reply?
            _ = try await eventually {
                let answer = try await web.post(path + "/commands", json: end, as: "anna")
                reply = answer.status == 200 ? try JSONCoding.decode(Body.self, from: answer.body).reply : nil
                return reply != nil
            }
            #expect(reply?.at == state.endedAt)
            #expect(state.segments.map(\.end) == [state.endedAt])
        }

        #expect(try await web.post("/logout", form: ["unsent": "keep"], as: "anna").status == 303)
        #expect(await eventually { (try? await system.command("status").status) == 0 }, "\(system.output)")
        kill(try #require(system.ids[try await serving(system)]), SIGKILL)
        var status = 0
        let isOut = try await eventually {
            status = try await web.get(path + "/events", as: "anna").status
            return status == 401
        }
        #expect(isOut, "\(status)")
        let scaled = try await system.command("scale", "dashboard=1")
        #expect(scaled.status == 1 && scaled.output.contains("the number of dashboards is fixed"), "\(scaled.output)")
    }

    @Test func `two dashboards share the certificate of --listen, and log in over TLS`() async throws {
        let compose = try ComposeSystem.folder()
        let anna = try await compose.addAccount("anna").value
        let system = try await ComposeSystem.run(
            compose, ["--postgres", "--scale", "dashboard=2", "--listen", "127.0.0.1"])
        defer { system.process.end(SIGTERM) }
        let url = try system.url("web")
        #expect(url.hasPrefix("https://127.0.0.1:"))
        let (ca, cookies) = (compose.folder.file("data/tls/ca.crt"), compose.folder.file("cookies"))
        func curl(_ arguments: String...) async throws -> String {
            let command = ["curl", "-s", "-m", "20", "-o", "/dev/null", "--cacert", ca, "-b", cookies, "-c", cookies]
            return String(decoding: try await ChildProcess.output(of: command + arguments), as: UTF8.self)
        }
        var login = ""
        _ = try await eventually {
            login = try await curl(
                "-H", "Origin: \(url)", "-w", "%{http_version} %{http_code}", "-d", "name=anna&password=\(anna)",
                "\(url)/login")
            return login == "2 303"
        }
        #expect(login == "2 303")
        #expect(try String(contentsOfFile: cookies, encoding: .utf8).contains("__Host-pacebus\t"))
        #expect(try await curl("-w", "%{http_code}", url + "/") == "200")
        #expect(try await system.command("status").status == 0)
    }

    @Test func `several dashboards refuse settings of another proxy`() async throws {
        let system = try ComposeSystem(
            try ComposeSystem.folder(), ["--postgres", "--scale", "dashboard=2"], environment: ["WEB_HOST=0.0.0.0"])
        #expect(await system.process.finish() == 1)
        #expect(system.output.contains("unset WEB_HOST"), "\(system.output)")
    }
}
