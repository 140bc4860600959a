import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// Logins and presses through a real dashboard, with real accounts and with killed processes.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct DashboardActingTests {
    private enum Victim: CaseIterable {
        case engine, broker, dashboard
    }

    @Test func `End counts once, at the press, while engine, broker and dashboard are killed`() async throws {
        var random = SeededRandom()
        let installation = try await Installation(services: [.engine])
        let dashboard = try await DashboardProcess(
            in: installation.folder, broker: "mqtt://127.0.0.1:\(installation.broker.port)")
        #expect(try await dashboard.logIn("anna", "any") == 303)
        try await BusObserver.run(port: installation.broker.port) { observer in
            for victims in [Victim.allCases, [.engine], [.broker], [.dashboard], [.dashboard, .broker]] {
                let key = SessionKey(try #require(User("anna")), SessionID(UUID()))
                let path = "/live/anna/\(key.session)/commands"
                let started = try await dashboard.press(
                    "start", #","session":"\#(key.session)","activity":"running","countdown":0"#, to: "/commands",
                    pressed: Date(), as: "anna")
                #expect(started.ok)
                let pressed = Date()
                let order = victims.shuffled(using: &random)
                let ended = try await dashboard.press("end", to: path, pressed: pressed, as: "anna") { attempt in
                    guard attempt < order.count else { return }
                    switch order[attempt] {
                    case .engine: try installation.kill(.engine)
                    case .dashboard: try dashboard.kill()
                    case .broker:
                        installation.broker.kill()
                        try await installation.broker.start()
                    }
                }
                #expect(ended.ok)
                let payload = try await observer.wait(for: Topic.session(key, .state).name) { payload in
                    (try? JSONCoding.decode(SessionState.self, from: payload))?.endedAt != nil
                }
                let state = try JSONCoding.decode(SessionState.self, from: payload)
                let at = try #require(state.endedAt)
                let late = at.seconds(since: Timestamp(seconds: pressed.timeIntervalSince1970))
                // What remains is the way of one POST.
                #expect((-0.01...2).contains(late), "\(order)")
                #expect(state.segments.map(\.end) == [at])
                #expect(ended.at == at)
                // Another press after the end would move it.
                #expect(state.status == .saving || state.status == .completed)
            }
        }
    }

    @Test func `the broker's rules decide who logs in, sees and acts`() async throws {
        let compose = try ComposeFolder()
        let anna = try await compose.addAccount("anna")
        let ben = try await compose.addAccount("ben")
        let coach = try await compose.addAccount("annas-coach", "--viewer-of", "anna")
        try await compose.needAccounts("_session-engine", "_dashboard")
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        func url(_ account: String) -> String { "mqtt://\(account)@127.0.0.1:\(broker.port)" }
        func password(_ account: String) -> [String] {
            ["MQTT_PASSWORD_FILE=\(compose.folder.file("data/secrets/\(account)"))"]
        }
        let engine = try Installation.run(
            "session-engine",
            ["--mqtt-url", url("_session-engine"), "--store-url", "sqlite:\(compose.folder.file("engine.sqlite"))"],
            environment: password("_session-engine"), log: compose.folder.file("engine.log"))
        defer { engine.end(SIGTERM) }
        let dashboard = try await DashboardProcess(
            in: compose.folder, broker: url("_dashboard"), environment: password("_dashboard"))

        #expect(try await dashboard.logIn("anna", "wrong") == 401)
        #expect(try await dashboard.logIn("_dashboard", try compose.password(of: "_dashboard").value) == 401)
        #expect(try await dashboard.logIn("anna", anna.value) == 303)
        let session = SessionID(UUID())
        let path = "/live/anna/\(session)/commands"
        let started = try await dashboard.press(
            "start", #","session":"\#(session)","activity":"running","countdown":0"#, to: "/commands", pressed: Date(),
            as: "anna")
        #expect(started.ok)

        // The coach sees anna by the retained `current`, which the engine has published now.
        #expect(try await dashboard.logIn("ben", ben.value) == 303)
        let body = #"{"id":"\#(UUID().uuidString)","type":"pause","age":0}"#
        // On a busy machine it may arrive after the first login has asked for it.
        let maySee = try await eventually {
            guard try await dashboard.logIn("annas-coach", coach.value) == 303 else { return false }
            return try await dashboard.post(path, json: body, as: "annas-coach").status == 403
        }
        #expect(maySee)
        #expect(try await dashboard.post(path, json: body, as: "ben").status == 404)
        #expect(try await dashboard.press("pause", to: path, pressed: Date(), as: "anna").ok)

        // A new password ends anna's logins as soon as her connection closes.
        try await compose.run("user", "password", "anna")
        let isOut = try await eventually {
            let body = #"{"id":"\#(UUID().uuidString)","type":"resume","age":0}"#
            return try await dashboard.post(path, json: body, as: "anna").status == 401
        }
        #expect(isOut)
        #expect(try await dashboard.post(path, json: body, as: "annas-coach").status == 403)
    }
}
