import Bus
import Foundation
import MQTT
import TestSupport
import Testing

/// What an account is, and a coach of several, by the rules of a real broker with real accounts.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct CoachTests {
    /// A broker, services and a dashboard with accounts of their own.
    private final class Site {
        let compose: ComposeFolder
        let broker: ComposeFolder.Broker
        let dashboard: DashboardProcess
        private var processes: [ChildProcess] = []

        init(services: [String] = [], webFolder: String? = nil) async throws {
            compose = try ComposeFolder()
            try await compose.needAccounts()
            broker = try await compose.startBroker()
            dashboard = try await DashboardProcess(
                in: compose.folder, broker: "mqtt://_dashboard@127.0.0.1:\(broker.port)",
                environment: ["MQTT_PASSWORD_FILE=\(compose.folder.file("data/secrets/_dashboard"))"],
                webFolder: webFolder)
            for service in services { processes.append(try compose.start(service, on: broker)) }
        }

        deinit {
            for process in processes { process.end(SIGTERM) }
            broker.process.end(SIGTERM)
        }

        func status(of path: String, as account: String) async throws -> Int {
            try await dashboard.get(path, as: account).status
        }

        /// Whose cards Home may show.
        func people(of account: String) async throws -> String? {
            let page = String(decoding: try await dashboard.get("/", as: account).body, as: UTF8.self)
            return page.firstRange(of: #"data-people=""#).map { start in
                String(page[start.upperBound...].prefix { $0 != "\"" })
            }
        }

        /// Adds a user who runs until the end of the test.
        func run(_ user: String) async throws {
            let password = try compose.folder.write(
                try await compose.addAccount(user).value, to: "\(user).password")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
            processes.append(
                try Installation.run(
                    "device",
                    [
                        "simulate", "--device", "watch-1", "--queue-folder", compose.folder.file("queue-\(user)"),
                        "--mqtt-url", "mqtt://\(user)@127.0.0.1:\(broker.port)",
                    ], environment: ["MQTT_PASSWORD_FILE=\(password)"], log: compose.folder.file("\(user).log")))
        }
    }

    @Test func `the broker says what an account is, without any session, and a change counts at once`() async throws {
        let site = try await Site()
        let ben = try await site.compose.addAccount("ben")
        _ = try await site.compose.addAccount("cara")
        let coach = try await site.compose.addAccount("coach", "--viewer-of", "ben")
        #expect(try await site.dashboard.logIn("ben", ben.value) == 303)
        #expect(try await site.dashboard.logIn("coach", coach.value) == 303)
        #expect(try await site.status(of: "/virtual-runs", as: "ben") == 200)
        #expect(try await site.status(of: "/virtual-runs", as: "coach") == 404)
        let start = #"{"id":"\#(UUID().uuidString)","type":"start","session":"\#(UUID().uuidString)","age":0}"#
        #expect(try await site.dashboard.post("/commands", json: start, as: "coach").status == 403)
        #expect(try await site.people(of: "coach") == "ben coach")
        #expect(try await site.people(of: "ben") == "ben")

        try await site.compose.run("user", "viewer", "add", "coach", "cara")
        #expect(try await eventually { try await site.people(of: "coach") == "ben cara coach" })
        #expect(try await site.status(of: "/live/cara/\(UUID())", as: "coach") == 200)
        try await site.compose.run("user", "viewer", "remove", "coach", "ben")
        #expect(try await eventually { try await site.people(of: "coach") == "cara coach" })
        #expect(try await site.status(of: "/live/ben/\(UUID())", as: "coach") == 404)
        // The stored login knows it too.
        try site.dashboard.kill()
        #expect(
            try await eventually { try await site.people(of: "coach") == "cara coach" })
        #expect(try await site.status(of: "/virtual-runs", as: "coach") == 404)
        try await site.compose.run("user", "remove", "coach")
        #expect(try await eventually { try await site.status(of: "/recent", as: "coach") == 401 })
        #expect(try await site.status(of: "/recent", as: "ben") == 200)
    }

    @Test func `on a broker without rules each account owns workouts, whoever else has some`() async throws {
        let installation = try await Installation(services: [.engine])
        let dashboard = try await DashboardProcess(
            in: installation.folder, broker: "mqtt://127.0.0.1:\(installation.broker.port)")
        for user in ["anna", "ben"] {
            #expect(try await dashboard.logIn(user, "any") == 303)
            let started = try await dashboard.press(
                "start", #","session":"\#(UUID().uuidString)","activity":"running","countdown":0"#, to: "/commands",
                pressed: Date(), as: user)
            #expect(started.ok)
        }
        // This login sees both.
        #expect(try await dashboard.logIn("ben", "any") == 303)
        #expect(try await dashboard.get("/virtual-runs", as: "ben").status == 200)
        let page = String(decoding: try await dashboard.get("/", as: "ben").body, as: UTF8.self)
        #expect(page.contains(#"data-people="anna ben""#))
    }

    @Test(
        .enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"),
        .disabled(if: Python.lacks("playwright"), "PYTHON has no playwright"),
        .enabled(if: ProcessInfo.processInfo.environment["WEB_FOLDER"] != nil, "needs WEB_FOLDER"))
    func `a coach's page shows exactly the users of the account, also while they change`() async throws {
        let site = try await Site(
            services: ["session-engine", "metrics-aggregator", "route-builder"],
            webFolder: ProcessInfo.processInfo.environment["WEB_FOLDER"])
        for user in ["anna", "ben", "cara", "dan", "eve"] { try await site.run(user) }
        let password = try await site.compose.addAccount("coach", "--viewer-of", "anna", "ben", "cara")
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "coach_page.py").path
        let output = try await ChildProcess.output(of: [
            "bash", "-c", #"cd "$0" && printf '%s\n' "$1" | "${@:2}""#, site.compose.folder.path, password.value,
            Python.interpreter, program, site.dashboard.url,
        ])
        #expect(
            String(decoding: output, as: UTF8.self) == """
                anna,ben,cara | This week of anna, ben, cara |\u{20}
                anna,ben,cara,dan | This week of 4 people |\u{20}
                ben,cara,dan | This week of ben, cara, dan |\u{20}
                cara,dan | This week of cara, dan |\u{20}
                404
                cara,dan | This week of cara, dan |\u{20}
                Log in

                """)
    }
}
