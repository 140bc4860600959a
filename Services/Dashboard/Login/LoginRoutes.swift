import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Storage
import Workouts

/// The login page and logging out. Both are forms and work without JavaScript.
extension DashboardRouter {
    static func addLoginRoutes(to router: Router<DashboardContext>, _ parts: DashboardParts) {
        let cookies = LoginCookies(isSecure: parts.configuration.isSecure)
        let pages = LoginPages(templates: Result { try PageTemplates(folder: parts.configuration.webFolder) })

        router.get("login") { request, context in
            let to = (request.uri.queryParameters.get("to") ?? "/").sameSitePath
            guard context.login == nil else { return Response.redirect(to: to) }
            return try pages.login(LoginPages.Login(to: to))
        }

        router.post("login") { request, context in
            let form = try await request.form(LoginForm.self, context)
            let name = form.name?.trimmingCharacters(in: .whitespaces) ?? ""
            let to = (form.to ?? "/").sameSitePath
            let network = ClientNetwork(request.clientAddress(context, parts.configuration))
            let answer = await parts.logins.logIn(
                name, form.password ?? "", from: network, browser: cookies.browser(request))
            var page = LoginPages.Login(to: to, name: name)
            switch answer {
            case .accepted(let token, let browser):
                // A login replaces the browser's former one.
                if let former = context.login { try? await parts.logins.logOut(former, everywhere: false) }
                var response = Response.redirect(to: to)
                cookies.set(token, browser: browser, on: &response)
                return response
            case .wrong:
                page.error = "Name or password is wrong."
                return try pages.login(page, status: .unauthorized)
            case .tooMany(let seconds):
                page.error = "Too many attempts. Try again in \(Int(seconds.rounded(.up))) seconds."
                return try pages.login(page, status: .tooManyRequests, retryAfter: seconds)
            case .brokerAway:
                page.error = "Passwords cannot be checked now. Try again in a minute."
                return try pages.login(page, status: .serviceUnavailable, retryAfter: 60)
            case .notStored:
                page.error = "The login cannot be stored now. Try again in a minute."
                return try pages.login(page, status: .serviceUnavailable, retryAfter: 60)
            }
        }

        router.post("logout") { request, context in
            var left = Response.redirect(to: "/login")
            cookies.clear(&left)
            left.headers[.clearSiteData] = #""cache""#
            guard let login = context.login else { return left }
            let form = try await request.form(LogoutForm.self, context)
            let unsent = login.user.map(parts.connections.unfinished) ?? []
            guard unsent.isEmpty || ["discard", "keep"].contains(form.unsent) else {
                return try pages.logout(login.account, unsent, everywhere: form.everywhere != nil)
            }
            do {
                if form.unsent == "discard", let user = login.user { try await parts.connections.discard(user) }
                try await parts.logins.logOut(login, everywhere: form.everywhere != nil)
            } catch is StoreError {
                throw HTTPError(
                    .serviceUnavailable, headers: [.retryAfter: "60"],
                    message: "The logout cannot be stored now; log out again in a minute.")
            }
            return left
        }
    }

    private struct LoginForm: Decodable {
        var name: String?
        var password: String?
        var to: String?
    }

    private struct LogoutForm: Decodable {
        var everywhere: String?
        /// What happens to presses without a reply: `keep` or `discard`.
        var unsent: String?
    }
}

/// The pages around a login.
private struct LoginPages: Sendable {
    struct Login {
        var to = "/"
        var name = ""
        var error: String?
    }

    let templates: Result<PageTemplates, any Error>

    func login(_ page: Login, status: HTTPResponse.Status = .ok, retryAfter: Double? = nil) throws -> Response {
        let templates = try templates.get()
        // The first empty field has the focus, and Mustache takes an empty string for a name.
        struct Values: Sendable { let to: String, name: String?, error: String?, assets: String }
        var response = try templates.response(
            Values(to: page.to, name: page.name.isEmpty ? nil : page.name, error: page.error, assets: templates.assets),
            template: "login",
            status: status)
        response.headers[.cacheControl] = "no-store"
        if let retryAfter { response.headers[.retryAfter] = "\(Int(retryAfter.rounded(.up)))" }
        return response
    }

    /// Asks what happens to presses without a reply.
    func logout(_ account: AccountName, _ presses: [String], everywhere: Bool) throws -> Response {
        let templates = try templates.get()
        struct Values: Sendable { let login: String, presses: [String], everywhere: Bool, assets: String }
        return try templates.response(
            Values(
                login: "\(account)", presses: presses, everywhere: everywhere, assets: templates.assets),
            template: "logout", status: .conflict)
    }
}

extension Request {
    /// Decodes a form; an absent body counts as empty.
    func form<Form: Decodable>(_ type: Form.Type, _ context: DashboardContext) async throws -> Form {
        let body = try await self.body.collect(upTo: 8_192)
        do {
            return try URLEncodedFormDecoder().decode(type, from: String(buffer: body))
        } catch {
            throw HTTPError(.badRequest, message: "the form cannot be read")
        }
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
