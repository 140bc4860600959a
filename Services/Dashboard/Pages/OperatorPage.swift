import Hummingbird
import ServiceKit
import Workouts

/// The page of all sessions, the services and the broker, for operators.
struct OperatorPage: Sendable {
    struct Choice: Sendable {
        let value: String
        let label: String
        let isChosen: Bool
    }

    let frame: PageFrame
    let units: String
    let name: String
    let filters: [Choice]
    let content: OperatorContent

    init(_ view: OperatorView, _ content: OperatorContent, login: Login, assets: String) {
        frame = PageFrame(
            title: "Operator", assets: assets, login: "\(login.account)", module: "operator", homeIcon: "activity")
        units = view.units.rawValue
        name = view.name
        filters = OperatorView.Filter.allCases.map {
            Choice(value: $0.rawValue, label: $0.title, isChosen: $0 == view.filter)
        }
        self.content = content
    }
}

extension OperatorView.Filter {
    fileprivate var title: String {
        switch self {
        case .unfinished: "In progress"
        case .silent: "Silent"
        default: SessionStatus(rawValue: rawValue)?.title ?? rawValue
        }
    }
}

extension OperatorView {
    /// What the page's address or its stream's asks for.
    init(_ request: Request) {
        let query = request.uri.queryParameters
        self.init(
            name: query.get("name") ?? "",
            filter: query.get("status").flatMap { Filter(rawValue: $0) } ?? .unfinished,
            units: query.get("units").flatMap { Units(rawValue: $0) } ?? .metric)
    }
}

extension DashboardRouter {
    static func addOperatorRoutes(to router: Router<DashboardContext>, _ parts: DashboardParts) {
        let templates = Result { try PageTemplates(folder: parts.configuration.webFolder) }
        router.get("operator") { request, context in
            let login = try requireOperator(context)
            let templates = try templates.get()
            try await parts.operators.prepare(login)
            let view = OperatorView(request)
            let page = OperatorPage(view, parts.operators.content(view), login: login, assets: templates.assets)
            return try templates.response(page, template: "operator")
        }
        router.get("operator/events") { request, context in
            let login = try requireOperator(context)
            parts.operators.connection.use(login)
            return try stream(.operators(OperatorView(request)), login, request, context, parts)
        }
    }

    /// Unlike a session, the page is no secret.
    private static func requireOperator(_ context: DashboardContext) throws(HTTPError) -> Login {
        guard let login = context.login else { throw HTTPError(.unauthorized) }
        guard login.isOperator else { throw HTTPError(.forbidden, message: "this page is the operator's") }
        return login
    }
}
