import Bus
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceKit
import Workouts

/// A person's saved plans. The editor is a form that carries all of a plan: it works without JavaScript.
extension DashboardRouter {
    /// The longest form.
    static let planFormLimit = 512 * 1_024

    static func addPlanRoutes(to router: Router<DashboardContext>, _ parts: DashboardParts) {
        let templates = Result { try PageTemplates(folder: parts.configuration.webFolder) }

        router.get("plans") { request, context in
            let pages = try pages(context)
            return try await pages.list(deleted: request.uri.queryParameters.get("deleted") != nil)
        }
        // For the form of the home page that starts a workout.
        router.get("plans.json") { _, context in try await pages(context).choices() }
        router.get("plans/:plan") { request, context in
            let query = request.uri.queryParameters
            return try await pages(context).plan(
                try plan(context), new: query.get("new"), isSaved: query.get("saved") != nil)
        }
        router.get("plans/:plan/plan.json") { _, context in try await pages(context).download(try plan(context)) }
        router.post("plans/:plan") { request, context in
            let (login, _) = try owner(context)
            let plan = try plan(context)
            guard request.headers[.contentType]?.hasPrefix("application/x-www-form-urlencoded") == true else {
                return try await postPlan(plan, request, login, parts)
            }
            let pages = try pages(context)
            return try await pages.post(plan, try await fields(request, login, parts))
        }

        @Sendable func pages(_ context: DashboardContext) throws -> PlanPages {
            guard let login = context.login else { throw HTTPError(.unauthorized) }
            guard login.ownsWorkouts, let user = login.user else { throw HTTPError(.notFound) }
            return PlanPages(parts: parts, templates: try templates.get(), login: login, user: user)
        }
    }

    private static func plan(_ context: DashboardContext) throws -> PlanID {
        guard let plan = context.parameters.get("plan").flatMap({ PlanID($0) }) else { throw HTTPError(.notFound) }
        return plan
    }

    private static func fields(
        _ request: Request, _ login: Login, _ parts: DashboardParts
    ) async throws -> [String: String] {
        let body: ByteBuffer
        do {
            body = try await request.body.collect(upTo: planFormLimit)
        } catch is NIOTooManyBytesError {
            throw HTTPError(.contentTooLarge, message: "expected a form of at most \(planFormLimit) bytes")
        }
        try parts.shares.take(bytes: body.readableBytes, of: login.account)
        do {
            return try URLEncodedFormDecoder().decode([String: String].self, from: String(buffer: body))
        } catch {
            throw HTTPError(.badRequest, message: "the form cannot be read")
        }
    }
}

/// The pages of one person's plans.
struct PlanPages: Sendable {
    let parts: DashboardParts
    let templates: PageTemplates
    let login: Login
    let user: User

    /// The person's profile, from the broker.
    private var profile: Profile? {
        parts.hub.newest(.user(user, .profile))
            .flatMap { try? JSONCoding.decode(UserProfile.self, from: $0.payload) }?.profile
    }
    var units: Units { profile?.units ?? .metric }
    var zone: String? { profile?.timeZone }

    /// The saved plans; `nil` if they cannot be read. Without a broker there is nothing to wait for.
    func readPlans() async -> [SavedPlans.Plan]? {
        parts.hub.broker == .connected ? await parts.connections.plans(of: login) : nil
    }

    /// Why the plans are unknown.
    var trouble: String {
        parts.hub.broker == .connected
            ? "session-engine does not answer, so your plans cannot be read now."
            : "There is no connection to the broker, so your plans cannot be read now."
    }

    func list(deleted: Bool) async throws -> Response {
        let plans = await readPlans()
        let page = PlansPage(
            frame: PageFrame(
                title: "Plans", assets: templates.assets, login: "\(login.account)", module: "plans",
                homeIcon: "arrow-left", hasPlans: true),
            units: units.rawValue, cards: (plans ?? []).reversed().map { PlansPage.Card($0, zone: zone) },
            newPath: "/plans/\(PlanID(UUID()))?new", trouble: plans == nil ? trouble : nil, deleted: deleted)
        return try answer(page, "plans", plans == nil ? .serviceUnavailable : .ok)
    }

    func choices() async throws -> Response {
        struct Choice: Encodable {
            let plan: PlanID
            let name: String
            let activity: Activity
        }
        guard let plans = await readPlans() else {
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "5"], message: trouble)
        }
        let choices = plans.reversed().map {
            Choice(plan: $0.plan, name: $0.definition.title, activity: $0.definition.activity)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONCoding.encode(choices))))
    }

    func plan(_ plan: PlanID, new: String?, isSaved: Bool) async throws -> Response {
        guard let plans = await readPlans() else {
            return try answer(missing(trouble), "plans", .serviceUnavailable)
        }
        var view = PlanView(plan: plan, units: units, form: .new)
        if let saved = plans.first(where: { $0.plan == plan }) {
            view.show(saved)
            if isSaved {
                view.notice = PlanNotice(text: "Saved.", isAlert: false, style: "done")
            }
        } else if let new {
            view.isImport = new == "import"
        } else {
            return try answer(
                missing("This plan does not exist. It may have been deleted elsewhere."), "plans", .notFound)
        }
        return try show(view)
    }

    private func missing(_ trouble: String) -> PlansPage {
        PlansPage(
            frame: PageFrame(
                title: "Plans", assets: templates.assets, login: "\(login.account)", module: "plans",
                homeIcon: "arrow-left", hasPlans: true),
            units: units.rawValue, cards: [], newPath: "/plans/\(PlanID(UUID()))?new", trouble: trouble, deleted: false)
    }

    func download(_ plan: PlanID) async throws -> Response {
        guard let plans = await readPlans() else {
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "5"], message: trouble)
        }
        guard let saved = plans.first(where: { $0.plan == plan }) else { throw HTTPError(.notFound) }
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/json", .cacheControl: "no-store",
                .contentDisposition: #"attachment; filename="\#(saved.definition.fileName).json""#,
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: saved.definition.json)))
    }

    func show(_ view: PlanView, _ status: HTTPResponse.Status = .ok) throws -> Response {
        try answer(view.page(login, zone: zone, assets: templates.assets), "plan", status)
    }

    private func answer(
        _ page: some Sendable, _ template: String, _ status: HTTPResponse.Status
    ) throws -> Response {
        var response = try templates.response(page, template: template, status: status)
        // Going back shows the newest plan, or asks.
        response.headers[.cacheControl] = "private, no-store"
        if status == .serviceUnavailable { response.headers[.retryAfter] = "5" }
        return response
    }
}

extension PlanView {
    mutating func show(_ saved: SavedPlans.Plan) {
        self.saved = saved
        show(saved.definition)
        base = PlanDigest(saved.definition)
    }

    mutating func show(_ definition: WorkoutDefinition) {
        form = PlanForm(definition, units)
        if form.rowCount > PlanForm.rowLimit { form = PlanForm(json: definition.json) }
    }
}

extension WorkoutDefinition {
    /// As people read it.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
