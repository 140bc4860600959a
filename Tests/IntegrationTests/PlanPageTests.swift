import Bus
import Foundation
import TestSupport
import Testing
import Workouts

private let webFolder = ProcessInfo.processInfo.environment["WEB_FOLDER"]

/// Plans through a real dashboard and session-engine.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct PlanPageTests {
    private static let form = [
        "do": "save", "base": "", "press": "one", "name": "Morning", "timer.type": "", "s0.name": "Main",
        "s0.timer.type": "", "s0i0.name": "Squat", "s0i0.category": "squat", "s0i0x0.repetitions": "8",
        "s0i0x0.weight": "62.5", "s0i0x0.rest": "1:30",
    ]

    private static func field(_ name: String, in page: DashboardProcess.Answer) throws -> String {
        let text = String(decoding: page.body, as: UTF8.self)
        let start = try #require(text.firstRange(of: "name=\"\(name)\" value=\""), "\(name): \(text)").upperBound
        return String(text[start...].prefix { $0 != "\"" })
    }

    @Test func `a plan saved on the page is what pacebus shows, starts from it, and is never overwritten unseen`()
        async throws
    {
        let installation = try await Installation(services: [.engine])
        let dashboard = try await DashboardProcess(
            in: installation.folder, broker: "mqtt://127.0.0.1:\(installation.broker.port)")
        #expect(try await dashboard.logIn("anna", "any") == 303)
        func plans() async throws -> String {
            let log = installation.folder.file("plans-\(UUID()).log")
            #expect(try await installation.pacebus(["plans", "--user", "anna"], log: log).finish() == 0)
            return try String(contentsOfFile: log, encoding: .utf8)
        }
        let plan = PlanID(UUID())
        let path = "/plans/\(plan)"
        func post(_ changes: [String: String]) async throws -> DashboardProcess.Answer {
            try await dashboard.post(
                path, form: Self.form.merging(changes) { $1 }.filter { !$0.value.isEmpty }, as: "anna")
        }
        // The engine may start later than the dashboard.
        let isEmpty = try await eventually {
            try await dashboard.get("/plans", as: "anna").status == 200
        }
        #expect(isEmpty)
        let empty = try await dashboard.get("/plans", as: "anna")
        #expect(String(decoding: empty.body, as: UTF8.self).contains("A plan is a workout written down"))
        #expect(try await dashboard.get(path, as: "anna").status == 404)
        #expect(try await dashboard.get("\(path)?new=", as: "anna").status == 200)

        #expect(try await post(["s0i0x0.weight": "heavy"]).status == 422)
        #expect(try await post([:]).status == 303)
        #expect(try await plans().contains("Morning"))
        // The same form again: a reload.
        #expect(try await post([:]).status == 303)

        let first = try await dashboard.get(path, as: "anna")
        let base = try Self.field("base", in: first)
        #expect(try Self.field("s0i0x0.weight", in: first) == "62.5 kg")
        // Two tabs begin with the same version.
        #expect(try await post(["base": base, "name": "Evening"]).status == 303)
        let conflict = try await post(["base": base, "name": "Noon"])
        #expect(conflict.status == 409)
        #expect(String(decoding: conflict.body, as: UTF8.self).contains("saved elsewhere"))
        #expect(try Self.field("name", in: conflict) == "Noon")
        #expect(try await plans().contains("Evening"))
        let newest = try Self.field("newest", in: conflict)
        #expect(try await post(["base": base, "newest": newest, "name": "Noon", "do": "save over"]).status == 303)
        #expect(try await plans().contains("Noon"))
        // Two tabs save at one time.
        let now = try Self.field("base", in: try await dashboard.get(path, as: "anna"))
        async let left = post(["base": now, "name": "Left", "press": "left"])
        async let right = post(["base": now, "name": "Right", "press": "right"])
        let statuses = [try await left.status, try await right.status]
        #expect(statuses.sorted() == [303, 409])

        let saved = try await dashboard.get(path, as: "anna")
        let session = try Self.field("start.session", in: saved)
        var start = [
            "do": "start", "base": try Self.field("base", in: saved), "name": try Self.field("name", in: saved),
        ]
        for name in ["start.session", "start.press"] { start[name] = try Self.field(name, in: saved) }
        start["start.countdown"] = "0"
        #expect(try await post(start.merging(["name": "Changed"]) { $1 }).status == 409)
        #expect(try await post(start).status == 303)
        #expect(try await post(start).status == 303)
        try await BusObserver.run(port: installation.broker.port) { observer in
            let key = SessionKey(try #require(User("anna")), try #require(SessionID(session)))
            let payload = try await observer.wait(for: Topic.session(key, .state).name)
            #expect(String(decoding: payload, as: UTF8.self).contains(#""name":"Squat""#))
        }
        // Another start asks before it discards.
        var other = start
        other["start.session"] = "\(SessionID(UUID()))"
        other["start.press"] = "other"
        let question = try await post(other)
        #expect(question.status == 409)
        #expect(String(decoding: question.body, as: UTF8.self).contains("This will discard your current workout"))
        #expect(try await post(other.merging(["do": "start replace"]) { $1 }).status == 303)

        let deleting = ["base": try Self.field("base", in: saved), "do": "delete"]
        #expect(try await post(deleting).status == 200)
        #expect(try await plans().contains("\(plan)"))
        #expect(try await post(deleting.merging(["do": "delete yes"]) { $1 }).status == 303)
        #expect(try await plans().contains("no saved plans"))

        installation.broker.kill()
        let away = try await eventually {
            try await dashboard.get("/plans", as: "anna").status == 503
        }
        #expect(away)
        let kept = try await post(["name": "Kept"])
        #expect(kept.status == 503)
        #expect(try Self.field("name", in: kept) == "Kept")
    }

    @Test(
        .enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"),
        .enabled(if: webFolder != nil, "WEB_FOLDER is not set"),
        .disabled(if: Python.lacks("axe_playwright_python"), "PYTHON has no axe-playwright-python"))
    func `a person makes, orders, saves and starts a plan in a browser, with and without JavaScript`() async throws {
        let installation = try await Installation(services: [.engine])
        let dashboard = try await DashboardProcess(
            in: installation.folder, broker: "mqtt://127.0.0.1:\(installation.broker.port)",
            webFolder: webFolder)
        #expect(try await dashboard.logIn("anna", "any") == 303)
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../DashboardTests/browser/plans.py").standardizedFileURL.path
        let examples = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Services/Pacebus/Plans").standardizedFileURL.path
        let command = [Python.interpreter, script, dashboard.url, examples, installation.folder.file("login.json")]
        try await ChildProcess.run(command, log: installation.folder.file("browser.log"))
        installation.broker.kill()
        #expect(
            try await eventually {
                try await dashboard.get("/plans", as: "anna").status == 503
            })
        try await ChildProcess.run(command + ["away"], log: installation.folder.file("away.log"))
    }
}
