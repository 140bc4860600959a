import Bus
import Foundation
import Workouts

/// The list of a person's plans.
struct PlansPage: Sendable {
    struct Card: Sendable {
        let path: String
        let name: String
        let summary: String
        let saved: String

        init(_ plan: SavedPlans.Plan, zone: String?) {
            path = "/plans/\(plan.plan)"
            name = plan.definition.title
            summary = plan.definition.summary
            saved = plan.date(zone)
        }
    }

    let frame: PageFrame
    let units: String
    let cards: [Card]
    /// The page of a plan that does not exist yet.
    let newPath: String
    /// Why the plans are not shown.
    let trouble: String?
    let deleted: Bool
}

/// What a page says above its content.
struct PlanNotice: Sendable {
    struct Button: Sendable {
        let value: String
        let label: String
        let style: String
    }

    struct Link: Sendable {
        let href: String
        let label: String
    }

    var text: String
    var detail = ""
    /// Read out at once.
    var isAlert = true
    var style = "warning"
    var problems: [Link] = []
    var links: [Link] = []
    var buttons: [Button] = []
}

/// The page of one plan: its editor and the form that starts it.
struct PlanPage: Sendable {
    /// The form that starts the saved plan.
    struct Start: Sendable {
        let session: String
        let press: String
        let activities: [PlanRows.Option]
        let environments: [PlanRows.Option]
        let countdowns: [PlanRows.Option]
        let pool: String
        let poolUnit: String
        /// `Running · usual place · 3 s countdown`.
        let choicesText: String
    }

    let frame: PageFrame
    let units: String
    let path: String
    let title: String
    let summary: String
    let notice: PlanNotice?
    /// The digest of the plan that the person began with; empty for a new one.
    let base: String
    /// The digest of another version that the page names; empty without one.
    let newest: String
    let press: String
    let isSaved: Bool
    let isChanged: Bool
    let fileName: String
    let start: Start?
    let rows: PlanRows?
    let isJSON: Bool
    let json: String
    let jsonError: String?
    let isJSONOpen: Bool
    let unitHint: String
}

/// What a page of a plan shows, before it is laid out.
struct PlanView {
    let plan: PlanID
    let units: Units
    var saved: SavedPlans.Plan?
    var form: PlanForm
    /// The digest that the form carries on.
    var base: PlanDigest?
    var newest: PlanDigest?
    var press = UUID().uuidString.lowercased()
    var start = PlanStart()
    /// The text of the box for JSON.
    var json = ""
    var problems: [PlanForm.Problem] = []
    var focus: PlanPlace?
    var notice: PlanNotice?
    var isChanged = false
    var isImport = false

    func page(_ login: Login, zone: String?, assets: String) -> PlanPage {
        let title = saved?.definition.title ?? "New plan"
        let isJSON = form.json != nil
        let builder = PlanRowsBuilder(
            form: form, units: units, problems: problems, focus: focus, opensNew: form.rowCount < 4)
        let date = saved.map { "Saved \($0.date(zone))" }
        return PlanPage(
            frame: PageFrame(
                title: title, assets: assets, login: "\(login.account)", module: "plans", homeIcon: "arrow-left",
                hasPlans: login.ownsWorkouts),
            units: units.rawValue, path: "/plans/\(plan)", title: title,
            summary: [saved?.definition.summary, date].compactMap(\.self).joined(separator: " · "),
            notice: notice ?? (problems.isEmpty ? nil : .problems(problems)), base: base?.description ?? "",
            newest: newest?.description ?? "", press: press,
            isSaved: saved != nil, isChanged: isChanged, fileName: "\(saved?.definition.fileName ?? "plan").json",
            start: saved.map { start.page($0.definition, units) }, rows: isJSON ? nil : builder.rows(), isJSON: isJSON,
            json: form.json ?? json, jsonError: problems.first { $0.field == "json" }?.text,
            isJSONOpen: isJSON || isImport || problems.contains { $0.field == "json" },
            unitHint: units == .imperial ? "lb" : "kg")
    }
}

extension PlanNotice {
    /// All problems, each with a link to its field.
    static func problems(_ problems: [PlanForm.Problem]) -> PlanNotice {
        PlanNotice(
            text: problems.count == 1
                ? "Not saved: one thing to correct" : "Not saved: \(problems.count) things to correct",
            style: "error",
            problems: problems.map { problem in
                let place = PlanPlace(problem.field)
                let leaf = place?.leaf.split(separator: ".").last.map(String.init) ?? ""
                let name = [place?.words ?? "", Self.names[leaf] ?? leaf].filter { !$0.isEmpty }.joined(separator: ", ")
                let target = ["sections", "items", "sets", "alternatives"].contains(leaf)
                let row = place.map { place in "\(place.with(leaf: ""))" } ?? ""
                return Link(
                    href: "#" + (target ? (row.isEmpty ? "main" : row) : problem.field),
                    label: "\(name.isEmpty ? "The plan" : name): \(problem.text)")
            })
    }

    private static let names = [
        "type": "clock", "cap": "time limit", "weight": "load", "category": "movement", "json": "JSON",
        "sections": "sections", "items": "exercises",
    ]
}

extension SavedPlans.Plan {
    /// When it was saved, in the profile's zone; without one in UTC, which it says.
    func date(_ zone: String?) -> String { Formatting.date(savedAt, zone: zone) + (zone == nil ? " UTC" : "") }
}

extension WorkoutDefinition {
    var title: String { name ?? "Plan without a name" }

    /// `2 sections · 5 exercises · 18 sets`.
    var summary: String {
        let items = sections.flatMap(\.items)
        let sets = items.reduce(0) { $0 + ($1.sets?.count ?? 1) }
        func count(_ number: Int, _ word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }
        return [count(sections.count, "section"), count(items.count, "exercise"), count(sets, "set")]
            .joined(separator: " · ")
    }

    /// The name with letters and digits of ASCII alone.
    var fileName: String {
        let words = (name ?? "").lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        return words.isEmpty ? "plan" : words.joined(separator: "-")
    }
}
