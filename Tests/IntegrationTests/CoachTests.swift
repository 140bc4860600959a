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
        let site = try await Site(services: ["session-engine"])
        let ben = try await site.compose.addAccount("ben")
        let coach = try await site.compose.addAccount("coach", "--viewer-of", "ben")
        for (user, password, isViewer) in [("ben", ben, false), ("coach", coach, true)] {
            #expect(try await site.dashboard.logIn(user, password.value) == 204)
            let reader = DashboardProcess.Reader(user: user, viewer: isViewer)
            #expect(try await eventually { try await site.dashboard.reader(user) == reader })
        }
        try await site.compose.run("user", "remove", "coach")
        #expect(try await eventually { try await site.dashboard.logIn("coach", coach.value) == 401 })
        #expect(try await site.dashboard.reader("ben") != nil)
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
                cara,dan | This week of cara, dan |\u{20}
                Log in

                """)
    }
}
