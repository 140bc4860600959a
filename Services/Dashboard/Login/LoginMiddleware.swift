import HTTPTypes
import Hummingbird

/// Sets `context.login` from the cookie. Everything but the login page and assets requires a login: a page redirects to
/// `/login?to=…`, other requests get 401.
struct LoginMiddleware: RouterMiddleware {
    typealias Context = DashboardContext

    let logins: LoginService
    let cookies: LoginCookies
    let shares: RequestShares
    /// Receives the login of each request.
    let onUse: @Sendable (Login) -> Void

    /// The paths that need no login. Shared links bring their own check; logging out works after the login ended.
    static func isOpen(_ path: String) -> Bool {
        path == "/login" || path == "/logout" || path.hasPrefix("/assets/") || path.hasPrefix("/s/")
    }

    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        var context = context
        let token = cookies.login(request)
        if let token { context.login = await logins.login(token) }
        // A restart must not look like a logout, and a proxy must find the replica that serves.
        guard logins.isLoaded || request.uri.path.hasPrefix("/assets/") else {
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"], message: "logins are not loaded yet")
        }
        if let login = context.login { onUse(login) }
        guard !Self.isOpen(request.uri.path) else { return try await next(request, context) }
        if let login = context.login { return try await shares.run(login.account) { try await next(request, context) } }
        guard request.isNavigation else { throw HTTPError(.unauthorized, message: "log in first") }
        let target = request.uri.query.map { "\(request.uri.path)?\($0)" } ?? request.uri.path
        return .redirect(to: "/login?to=\(target.encodedForQuery)", type: .normal)
    }
}

/// The cookies of a login and of a browser that has logged in before.
struct LoginCookies: Sendable {
    private let isSecure: Bool

    init(isSecure: Bool) {
        self.isSecure = isSecure
    }

    /// Browsers accept `__Host-` over TLS only.
    private var name: String { isSecure ? "__Host-pacebus" : "pacebus" }
    private var browserName: String { "\(name)-browser" }

    func login(_ request: Request) -> LoginToken? { (request.cookies[name]?.value).flatMap(LoginToken.init) }

    func browser(_ request: Request) -> LoginToken? { (request.cookies[browserName]?.value).flatMap(LoginToken.init) }

    func set(_ login: LoginToken, browser: LoginToken, on response: inout Response) {
        response.setCookie(cookie(name, login.text, LoginSessions.longest))
        response.setCookie(cookie(browserName, browser.text, LoginSessions.browserUnused))
    }

    /// Removes the login and leaves the browser known.
    func clear(_ response: inout Response) {
        response.setCookie(cookie(name, "", 0))
    }

    private func cookie(_ name: String, _ value: String, _ age: Double) -> Cookie {
        Cookie(
            name: name, value: value, maxAge: Int(age), path: "/", secure: isSecure, httpOnly: true, sameSite: .lax)
    }
}

extension Request {
    /// Whether the browser loads a page, and does not fetch data for one.
    var isNavigation: Bool {
        guard method == .get || method == .head else { return false }
        if let mode = headers[.secFetchMode] { return mode == "navigate" }
        return headers[.accept]?.contains("text/html") ?? false
    }
}

extension String {
    /// Percent-encoded for a value in a query.
    var encodedForQuery: String {
        utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "/"):
                String(UnicodeScalar(byte))
            default: "%" + String(byte >> 4, radix: 16, uppercase: true) + String(byte & 15, radix: 16, uppercase: true)
            }
        }.joined()
    }

    /// The path if it stays on this site; `/` otherwise. `//host` and `/\host` name other sites.
    var sameSitePath: String {
        let bytes = Array(utf8)
        guard bytes.first == UInt8(ascii: "/"), bytes.count <= 2_000, bytes.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return "/" }
        if bytes.count > 1, bytes[1] == UInt8(ascii: "/") || bytes[1] == UInt8(ascii: "\\") { return "/" }
        return self
    }
}
