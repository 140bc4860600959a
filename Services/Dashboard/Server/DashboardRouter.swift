import Bus
import Foundation
import HTTPTypes
import Hummingbird
import MQTT
import NIOCore
import ServiceKit
import Workouts

/// All routes: static pages and assets, `/me`, logging in and out, and pairing. ``BusUpgrade`` answers `/mqtt`; what comes here
/// is no accepted handshake.
struct DashboardRouter: Sendable {
    /// Pages by path; `:` begins a level that a page's module reads.
    private static let pages = [
        "/": "home", "history": "history", "live/:user/:session": "live", "workout/:user/:session": "workout",
        "virtual-runs": "runs", "virtual-runs/:run": "run", "plans": "plans", "plans/:plan": "plan",
        "operator": "operator", "login": "login", "account": "account", "compare": "compare",
        "pair": "pair", "record": "live", "import": "import",
    ]

    let logins: LoginService
    let files: WebFiles
    let configuration: DashboardConfiguration
    let clock: any WallClock
    let connections: Connections
    let partitions: Int

    func build() -> Router<DashboardContext> {
        let router = Router(context: DashboardContext.self)
        router.add(middleware: SecurityHeaders(configuration, files))
        router.add(middleware: HostCheck<DashboardContext>())
        router.add(
            middleware: LoginReader(
                logins: logins, configuration: configuration, shares: RequestShares(clock: clock),
                connections: connections))
        for (path, page) in Self.pages {
            router.get(RouterPath(path)) { request, _ in try files.page(page, request) }
        }
        router.get("assets/**") { request, context in
            try files.asset(context.parameters.getCatchAll(), request)
        }
        router.get("mqtt") { _, _ -> Response in
            throw HTTPError(
                .forbidden, message: "expected a WebSocket handshake for the protocol mqtt, of an allowed origin")
        }
        router.get("me") { _, context in try me(context.login) }
        router.post("login") { request, context in try await logIn(request, context) }
        router.post("pair") { request, context in try await pair(request, context) }
        router.post("logout") { _, context in accept(nil, context) }
        return router
    }

    // MARK: The reader

    private struct Reader: Encodable {
        let user: String
        /// The id of the login.
        let login: String
        let viewer: Bool
        let now: Timestamp
        let version: String
        /// The brokers that share the accounts.
        let partitions: Int
        let tiles: DashboardConfiguration.Tiles?
    }

    private func me(_ cookie: LoginService.Cookie) throws -> Response {
        switch cookie {
        case .none: throw HTTPError(.unauthorized, message: "log in first")
        case .unknown:
            throw HTTPError(
                .serviceUnavailable, headers: [.retryAfter: "1"],
                message: "which logins have ended is not known yet; session-engine is away")
        case .valid(var login):
            let now = clock.now
            let reader = Reader(
                user: "\(login.account)", login: login.id, viewer: logins.isViewer(login.account), now: now,
                version: files.version, partitions: partitions, tiles: configuration.tiles)
            var response = json(reader)
            if login.isDueForRenewal(now) {
                login.renewedAt = now
                logins.cookies.set(login, on: &response)
            }
            return response
        }
    }

    // MARK: Logging in

    private struct LoginForm: Decodable {
        var name: String?
        var password: String?
    }

    private func logIn(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let form: LoginForm = try await read(request)
        let name = form.name?.trimmingCharacters(in: .whitespaces) ?? ""
        let network = ClientNetwork(request.clientAddress(context, configuration))
        let login = try await logins.logIn(name, form.password ?? "", from: network, request.headers)
        return accept(login, context)
    }

    private func read<Form: Decodable>(_ request: Request) async throws -> Form {
        do {
            let body = try await request.body.collect(upTo: 8_192)
            return try URLEncodedFormDecoder().decode(Form.self, from: String(buffer: body))
        } catch {
            throw HTTPError(.badRequest, message: "the form cannot be read")
        }
    }

    /// Replaces the browser's login, or ends it.
    private func accept(_ login: Login?, _ context: DashboardContext) -> Response {
        if case .valid(let former) = context.login { logins.leave(former) }
        var response = Response(status: .noContent, headers: [.cacheControl: "no-store"])
        if let login { logins.cookies.set(login, on: &response) } else { logins.cookies.clear(&response) }
        return response
    }

    private func json(_ value: some Encodable) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONCoding.encode(value))))
    }

    // MARK: Pairing

    private struct PairingForm: Decodable {
        let token: String
        /// Absent: the browser only asks whose device it would be.
        let accept: Bool?
    }

    private func pair(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let form: PairingForm = try await read(request)
        let accepts = form.accept == true
        let pairing = configuration.pairings?.pairing(form.token, takes: accepts, at: clock.now)
        guard let pairing, let account = User(account: pairing.user) else {
            throw HTTPError(
                .notFound,
                message: "This link is used or older than five minutes. Make a new one: compose/user pair NAME")
        }
        guard !accepts else { return accept(Login(account, Secret(pairing.password), at: clock.now), context) }
        return json(["user": pairing.user, "device": pairing.device])
    }
}

/// Sets `context.login` from the cookie, and lets requests wait their turn.
struct LoginReader: RouterMiddleware {
    typealias Context = DashboardContext

    let logins: LoginService
    let configuration: DashboardConfiguration
    let shares: RequestShares
    let connections: Connections

    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.login = logins.login(request.headers)
        if case .valid(let login) = context.login {
            connections.logIn(context.channel)
            try await shares.wait(for: .account(login.account))
        } else {
            try await shares.wait(for: .network(ClientNetwork(request.clientAddress(context, configuration))))
        }
        return try await next(request, context)
    }
}

extension Request {
    /// Whether the browser loads a page, and does not fetch data for one.
    var isNavigation: Bool {
        guard method == .get || method == .head else { return false }
        if let mode = headers[.secFetchMode] { return mode == "navigate" }
        return headers[.accept]?.contains("text/html") ?? false
    }

    /// The browser's address. Only the trusted proxy may name another than the connection's.
    func clientAddress(_ context: DashboardContext, _ configuration: DashboardConfiguration) -> String {
        let peer = context.peer
        guard peer == configuration.trustedProxy, let forwarded = headers[values: .forwardedFor].last,
            let last = forwarded.split(separator: ",").last
        else { return peer ?? "" }
        return IPAddress.canonical(last.trimmingCharacters(in: .whitespaces)) ?? peer ?? ""
    }
}
