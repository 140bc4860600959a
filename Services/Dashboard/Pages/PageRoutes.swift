import Bus
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceKit
import Workouts

extension DashboardRouter {
    static func addPageRoutes(to router: Router<DashboardContext>, _ parts: DashboardParts) {
        let pages = PageRoutes(
            hub: parts.hub, history: parts.history, configuration: parts.configuration, clock: parts.context.clock,
            templates: Result { try PageTemplates(folder: parts.configuration.webFolder) })
        router.get("/") { _, context -> Response in
            guard let login = context.login else { throw HTTPError(.unauthorized) }
            // An operator has no workout and watches everyone's.
            guard !login.isOperator else { return .redirect(to: "/operator", type: .normal) }
            return try pages.home(login)
        }
        // What a page of `/` shows again when a workout was finished, revised or deleted.
        router.get("recent") { _, context in
            guard let login = context.login else { throw HTTPError(.unauthorized) }
            let body = JSONCoding.encode(parts.history.recent(login.seen, now: parts.context.clock.now))
            return Response(
                status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
        }
        router.get("live/:user/:session") { _, context in
            guard let login = context.login else { throw HTTPError(.unauthorized) }
            guard let user = context.parameters.get("user").flatMap(User.init), login.maySee(user),
                let session = context.parameters.get("session").flatMap({ SessionID($0) })
            else { throw HTTPError(.notFound) }
            return try pages.live(SessionKey(user, session), login)
        }
        router.get("virtual-runs") { _, context in
            guard let login = context.login else { throw HTTPError(.unauthorized) }
            guard login.ownsWorkouts else { throw HTTPError(.notFound) }
            return try pages.runs(login)
        }
        router.get("virtual-runs/:run") { _, context in
            guard let login = context.login else { throw HTTPError(.unauthorized) }
            guard login.ownsWorkouts, let run = context.parameters.get("run").flatMap({ RunID($0) }) else {
                throw HTTPError(.notFound)
            }
            return try pages.run(run, login)
        }
    }
}

/// The pages, made of the newest messages.
private struct PageRoutes: Sendable {
    let hub: LiveHub
    let history: WorkoutHistory
    let configuration: DashboardConfiguration
    let clock: any WallClock
    let templates: Result<PageTemplates, any Error>

    private var now: Timestamp { clock.now }

    func home(_ login: Login) throws -> Response {
        let templates = try templates.get()
        let units = units(of: login) ?? .metric
        let cards = login.seen.sorted().compactMap { user in
            hub.sessions(of: user).lazy.compactMap(hub.state).first { $0.isOnHomePage(now) }
                .map { HomePage.Card($0, metrics(of: $0.key), history.totals(of: $0.key), units: units, now: now) }
        }
        let page = HomePage(
            login: login, current: login.user.flatMap(hub.current), cards: cards,
            recent: history.recent(login.seen, now: now), units: units, assets: templates.assets,
            configuration: configuration)
        return try templates.response(page, template: "home")
    }

    func live(_ key: SessionKey, _ login: Login) throws -> Response {
        let templates = try templates.get()
        let page = LivePage(
            key, hub.state(of: key), metrics(of: key), history.totals(of: key), login: login, units: units(of: login),
            assets: templates.assets, configuration: configuration, now: now)
        return try templates.response(page, template: "live")
    }

    func runs(_ login: Login) throws -> Response {
        let templates = try templates.get()
        let page = RunPage(nil, login: login, units: units(of: login), configuration, assets: templates.assets)
        return try templates.response(page, template: "runs")
    }

    func run(_ run: RunID, _ login: Login) throws -> Response {
        let templates = try templates.get()
        let page = RunPage(run, login: login, units: units(of: login), configuration, assets: templates.assets)
        return try templates.response(page, template: "run")
    }

    private func metrics(of key: SessionKey) -> MetricsSnapshot? {
        hub.newest(.session(key, .metrics)).flatMap { try? MetricsSnapshot($0.payload) }
    }

    /// The units of the reader's profile.
    private func units(of login: Login) -> Units? {
        login.user.flatMap { hub.newest(.user($0, .profile)) }
            .flatMap { try? JSONCoding.decode(UserProfile.self, from: $0.payload) }?.profile.units
    }
}
