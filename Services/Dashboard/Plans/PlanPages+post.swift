import Bus
import Foundation
import HTTPTypes
import Hummingbird
import Workouts

/// What the buttons of a plan's form do. Each answer shows the form as the person left it.
extension PlanPages {
    /// - Parameter fields: the form; `do` is the value of the pressed button.
    func post(_ plan: PlanID, _ fields: [String: String]) async throws -> Response {
        var fields = fields
        let button = fields.removeValue(forKey: "do") ?? "save"
        var view = PlanView(plan: plan, units: units, form: .new)
        view.base = (fields.removeValue(forKey: "base")).flatMap { PlanDigest($0) }
        view.press = fields.removeValue(forKey: "press") ?? view.press
        let newest = (fields.removeValue(forKey: "newest")).flatMap { PlanDigest($0) }
        view.start = PlanStart(&fields)
        if fields["as"] != "json" { view.json = fields.removeValue(forKey: "json") ?? "" }
        do {
            view.form = try PlanForm(fields)
        } catch .unknownField(let name) {
            throw HTTPError(.badRequest, message: "unknown field '\(name.prefix(40))'")
        } catch .tooManyRows {
            throw HTTPError(
                .contentTooLarge, message: "expected at most \(PlanForm.rowLimit) rows; import JSON instead")
        }
        if let plans = await newestPlans { view.saved = plans.first { $0.plan == plan } }
        view.isChanged = isChanged(view)
        let words = button.split(separator: " ").map(String.init)
        switch words.first {
        case "save": return try await save(view, base: words.contains("over") ? newest : view.base)
        case "delete": return try await delete(view, isSure: words.contains("yes"), newest: newest)
        case "start": return try await start(view, Set(words))
        case "import": return try importJSON(view)
        case "keep": return try show(view)
        default:
            guard let edit = PlanEdit(button) else {
                throw HTTPError(.badRequest, message: "unknown button '\(button.prefix(40))'")
            }
            view.focus = view.form.apply(edit)
            view.isChanged = isChanged(view)
            return try show(view)
        }
    }

    /// Whether the form describes another plan than the saved one.
    private func isChanged(_ view: PlanView) -> Bool {
        let checked = view.form.check(units)
        return !checked.problems.isEmpty || checked.definition != view.saved?.definition
    }

    /// Without waiting for services that are away: moving a row needs none.
    private var newestPlans: [SavedPlans.Plan]? {
        get async {
            parts.hub.isOnline("session-engine") ? await readPlans() : nil
        }
    }

    private func save(_ view: PlanView, base: PlanDigest?) async throws -> Response {
        var view = view
        let checked = view.form.check(units)
        guard checked.problems.isEmpty else {
            view.problems = checked.problems
            return try show(view, .unprocessableContent)
        }
        guard let plans = await readPlans() else {
            view.notice = PlanNotice(text: "Not saved: \(trouble)", detail: "Your input is kept on this page.")
            return try show(view, .serviceUnavailable)
        }
        view.saved = plans.first { $0.plan == view.plan }
        // A repeated POST, or another tab with the same changes.
        if view.saved?.definition == checked.definition { return Self.saved(view.plan) }
        let press = UserRequest.Action.savePlan(view.plan, checked.definition)
        let answer = await parts.connections.perform(
            .request(press), id: PlanDigest.command(view.press, checked.definition), age: 0, for: login,
            onto: PlanBase(plan: view.plan, digest: base))
        switch answer {
        case .done: return Self.saved(view.plan)
        case .refused(let refusal) where refusal.code == Refusal.planChanged.code:
            return try await changed(view, over: .init("save over", "Save mine over it", "danger"))
        default: return try failed(view, answer, "saved")
        }
    }

    private static func saved(_ plan: PlanID) -> Response { .redirect(to: "/plans/\(plan)?saved") }

    private func delete(_ view: PlanView, isSure: Bool, newest: PlanDigest?) async throws -> Response {
        var view = view
        guard isSure else {
            view.notice = PlanNotice(
                text: "Delete \(view.saved?.definition.title ?? "this plan")?",
                detail: "A workout that uses it continues. This cannot be undone.",
                buttons: [.init("keep", "Keep it", "primary"), .init("delete yes", "Delete", "danger")])
            return try show(view)
        }
        guard let plans = await readPlans() else {
            view.notice = PlanNotice(text: "Not deleted: \(trouble)")
            return try show(view, .serviceUnavailable)
        }
        view.saved = plans.first { $0.plan == view.plan }
        guard view.saved != nil else { return .redirect(to: "/plans?deleted") }
        let press = UserRequest.Action.deletePlan(view.plan)
        let answer = await parts.connections.perform(
            .request(press), id: PlanDigest.command(view.press, "delete"), age: 0, for: login,
            onto: PlanBase(plan: view.plan, digest: newest ?? view.base))
        switch answer {
        case .done: return .redirect(to: "/plans?deleted")
        case .refused(let refusal) where refusal.code == Refusal.planChanged.code:
            return try await changed(view, over: .init("delete yes", "Delete the newer version", "danger"))
        default: return try failed(view, answer, "deleted")
        }
    }

    /// Another tab or device was faster: both versions stay until the person decides.
    private func changed(_ view: PlanView, over button: PlanNotice.Button) async throws -> Response {
        var view = view
        // The press did not happen: a decision is another one.
        view.press = UUID().uuidString.lowercased()
        view.saved = await readPlans()?.first { $0.plan == view.plan }
        view.newest = view.saved.map { PlanDigest($0.definition) }
        if let saved = view.saved {
            view.notice = PlanNotice(
                text: "This plan was saved elsewhere: \(saved.date(zone)).",
                detail:
                    "There it is “\(saved.definition.title)”, \(saved.definition.summary). Yours is below, not saved.",
                links: [.init(href: "/plans/\(view.plan)", label: "Open the other version in a new tab")],
                buttons: [button])
        } else {
            view.notice = PlanNotice(
                text: "This plan was deleted elsewhere.", detail: "Yours is below, not saved.",
                buttons: [.init("save over", "Save mine as a new plan", "")])
        }
        return try show(view, .conflict)
    }

    private func failed(_ view: PlanView, _ answer: CommandAnswer, _ verb: String) throws -> Response {
        var view = view
        switch answer {
        case .refused(let refusal):
            view.press = UUID().uuidString.lowercased()
            view.notice = PlanNotice(text: "Not \(verb): \(refusal.message).", style: "error")
            return try show(view, .conflict)
        case .pending:
            view.notice = PlanNotice(
                text: "session-engine has not answered yet.",
                detail: "Your change is kept and sent again until it does. Look again in a moment.")
            return try show(view, .accepted)
        case .full(let refusal):
            view.notice = PlanNotice(text: "Not \(verb): \(refusal.message).", style: "error")
            return try show(view, .tooManyRequests)
        case .done, .unavailable:
            view.notice = PlanNotice(text: "Not \(verb): the server cannot store it now. Try again.", style: "error")
            return try show(view, .serviceUnavailable)
        }
    }

    private func importJSON(_ view: PlanView) throws -> Response {
        var view = view
        let checked = PlanForm(json: view.form.json ?? view.json).check(units)
        guard checked.problems.isEmpty else {
            view.problems = checked.problems
            return try show(view, .unprocessableContent)
        }
        view.show(checked.definition)
        view.isChanged = checked.definition != view.saved?.definition
        view.json = ""
        view.notice = PlanNotice(text: "Imported, not saved yet.", isAlert: false)
        return try show(view)
    }

    /// Starts the saved version.
    ///
    /// - Parameter words: `saved` in spite of changes, `replace` discards an unfinished workout.
    private func start(_ view: PlanView, _ words: Set<String>) async throws -> Response {
        var view = view
        guard let plans = await readPlans() else {
            view.notice = PlanNotice(text: "Not started: \(trouble)")
            return try show(view, .serviceUnavailable)
        }
        view.saved = plans.first { $0.plan == view.plan }
        guard let definition = view.saved?.definition else {
            view.notice = PlanNotice(text: "Not started: save the plan first.", style: "error")
            return try show(view, .conflict)
        }
        guard !view.isChanged || words.contains("saved") else {
            view.notice = PlanNotice(
                text: "There are unsaved changes.", detail: "Save them first, or start the version that is saved.",
                buttons: [.init("save", "Save", "primary"), .init("start saved", "Start the saved version", "")])
            return try show(view, .conflict)
        }
        guard
            let (session, start) = view.start.command(
                definition, units: units, zone: zone, replaces: words.contains("replace"))
        else {
            view.notice = PlanNotice(
                text: "Not started: choose an activity, a place and a countdown.",
                detail: "A pool is 5 to 200 m long.", style: "error")
            return try show(view, .unprocessableContent)
        }
        let live = "/live/\(user)/\(session)"
        let press = Press.command(session, .start(start))
        let id = PlanDigest.command(
            view.start.press, Command(id: CommandID(session.uuid), client: nil, action: .start(start)))
        let answer = await parts.connections.perform(press, id: id, age: 0, for: login)
        switch answer {
        case .done: return .redirect(to: live)
        case .pending:
            view.notice = PlanNotice(
                text: "session-engine does not answer. Your start is kept.",
                links: [.init(href: live, label: "Open the workout")])
            return try show(view, .accepted)
        case .refused(let refusal) where refusal.code == "session_in_progress":
            let current = parts.hub.current(of: user)?.session
            view.start.press = UUID().uuidString.lowercased()
            view.notice = PlanNotice(
                text: "This will discard your current workout. Continue?",
                links: current.map { [.init(href: "/live/\(user)/\($0)", label: "Resume it")] } ?? [],
                buttons: [.init("start replace" + (view.isChanged ? " saved" : ""), "Discard it and start", "danger")])
            return try show(view, .conflict)
        default:
            view.start = PlanStart(keeping: view.start)
            return try failed(view, answer, "started")
        }
    }
}

extension PlanNotice.Button {
    fileprivate init(_ value: String, _ label: String, _ style: String) {
        self.init(value: value, label: label, style: style)
    }
}
