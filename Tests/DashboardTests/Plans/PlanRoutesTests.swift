import Foundation
import HTTPTypes
import TestSupport
import Testing
import Workouts

@testable import Dashboard

/// The form of a plan through the router, without a broker.
struct PlanRoutesTests {
    private static let path = "/plans/6f9619ff-8b86-d011-b42d-00c04fc964ff"

    @Test func `any form gets its page again or a refusal`() async throws {
        try await Site.run { site in
            let browser = try await Browser.with("anna", site)
            var random = SeededRandom()
            let buttons = [
                "save", "save over", "delete", "delete yes", "start", "start replace saved", "import", "keep", "add s",
                "add s0i", "up s0i0", "down s0i0x0", "remove s0", "add s0i0x", "up s0i0.name", "remove s99i3", "", "🏋️",
                "add ", "jump s0",
            ]
            let values = [
                "", "8", "1:30", "x", "<b>\"&'", "\u{0}", "interval", "squat", "-1", "1e999", "{", "null", "[]",
            ]
            for _ in 0..<300 {
                var fields = PlanForm(random.formDefinition(), .metric).fields
                for name in fields.keys.sorted() where Int.random(in: 0..<20, using: &random) == 0 {
                    fields[name] = values.randomElement(using: &random)
                }
                let strange = [
                    "s0i0x0x0", "a[b", "s0i0a0x1.weight", "base", "newest", "press", "json", "as", "start.session",
                ]
                for name in strange where Int.random(in: 0..<6, using: &random) == 0 {
                    fields[name] = values.randomElement(using: &random)
                }
                fields["do"] = buttons.randomElement(using: &random)
                let answer = try await browser.post(Self.path, form: fields)
                #expect([200, 400, 409, 413, 422, 503].contains(answer.status), "\(fields)")
                if answer.status == 422 { #expect(try await answer.text().contains("to correct")) }
            }
        }
    }

    @Test func `the input of a form is kept when services are away, and its text is escaped`() async throws {
        try await Site.run { site in
            let browser = try await Browser.with("anna", site)
            var form = PlanForm.new
            form.name = "<script>\"x\""
            form.sections[0].items[0].exercise.name = "Squat"
            let answer = try await browser.post(Self.path, form: form.fields.merging(["do": "save"]) { $1 })
            #expect(answer.status == 503)
            let text = try await answer.text()
            #expect(text.contains("value=\"&lt;script&gt;&quot;x&quot;\""))
            #expect(text.contains("There is no connection to the broker"))
            #expect(answer.headers[.cacheControl] == "private, no-store")
        }
    }

    @Test func `a form above its bounds is refused`() async throws {
        try await Site.run { site in
            let browser = try await Browser.with("anna", site)
            let long = String(repeating: "x", count: DashboardRouter.planFormLimit)
            #expect(try await browser.post(Self.path, form: ["name": long]).status == 413)
            let rows = Dictionary(
                uniqueKeysWithValues: (0...PlanForm.rowLimit).map { ("s0i\($0 % 900)x\($0 / 900).time", "1") })
            #expect(try await browser.post(Self.path, form: rows).status == 413)
            // 60 exercises with eight alternatives each.
            let others = (0..<8).map { PlannedExercise(name: "Other \($0)") }
            let items = (0..<60).map { WorkoutDefinition.Item(name: "Exercise \($0)", alternatives: others) }
            let definition = WorkoutDefinition(sections: [WorkoutDefinition.Section(items: items)])
            try #require(definition.validationError == nil)
            let form = PlanForm(definition, .metric).fields
            #expect(try await browser.post(Self.path, form: form.merging(["do": "keep"]) { $1 }).status == 200)
        }
    }

    /// The plans with the most rows, and with the longest texts in a form.
    private static let largest: [WorkoutDefinition] = {
        let sets = [PlannedSet](repeating: PlannedSet(), count: 3)
        let others = (0..<8).map { PlannedExercise(name: "\($0)", sets: sets) }
        let most = (0..<60).map {
            WorkoutDefinition.Item(name: "x", sets: sets + ($0 < 20 ? [PlannedSet()] : []), alternatives: others)
        }
        let text = String(repeating: "é", count: 44)
        let long = (0..<60).map { item in
            WorkoutDefinition.Item(
                id: "\(item) \(text.prefix(28))", name: text,
                sets: (0..<2).map {
                    PlannedSet(repetitions: 1_000, weight: 0.1 + Double($0) / 7, time: 1.0 / 0.3, rest: 1.0 / 0.7)
                },
                alternatives: [PlannedExercise(name: "or\(text)")])
        }
        return [most, long].map { items in
            WorkoutDefinition(
                sections: (0..<20).map { WorkoutDefinition.Section(items: Array(items[($0 * 3)..<($0 * 3 + 3)])) })
        }
    }()

    @Test(arguments: 0..<2)
    func `the largest plans fit into their form`(index: Int) async throws {
        let definition = Self.largest[index]
        try #require(definition.validationError == nil)
        try await Site.run { site in
            var view = PlanView(plan: PlanID(UUID()), units: .imperial, form: .new)
            view.show(definition)
            // Browsers write line breaks so.
            let json = view.form.json.map { ["as": "json", "json": $0.replacing("\n", with: "\r\n")] }
            #expect((json != nil) == (index == 0))
            let fields = json ?? view.form.fields
            let browser = try await Browser.with("anna", site)
            // The form is read and valid; there is no broker to save it.
            let answer = try await browser.post(Self.path, form: fields.merging(["do": "save"]) { $1 })
            #expect(answer.status == 503)
            #expect(try await answer.text().contains("There is no connection to the broker"))
        }
    }

    @Test func `JSON replaces the form, or its error is beside it`() async throws {
        try await Site.run { site in
            let browser = try await Browser.with("anna", site)
            let good = #"{"name":"Row","sections":[{"items":[{"name":"Erg"}]}]}"#
            let answer = try await browser.post(Self.path, form: ["do": "import", "json": good])
            #expect(answer.status == 200)
            #expect(try await answer.text().contains("value=\"Erg\""))
            let bad = try await browser.post(
                Self.path, form: ["do": "import", "name": "Kept", "json": #"{"sections":[{"items":[]}]}"#])
            #expect(bad.status == 422)
            let text = try await bad.text()
            #expect(text.contains("sections[0].items: 1 to 60"))
            #expect(text.contains("value=\"Kept\""))
            // It would be lost without a word.
            let unknown = #"{"sections":[{"items":[{"name":"Erg","sets":[{"reps":8}]}]}]}"#
            let other = try await browser.post(Self.path, form: ["do": "import", "json": unknown])
            #expect(other.status == 422)
            #expect(try await other.text().contains("sections[0].items[0].sets[0].reps: unknown field"))
        }
    }
}
