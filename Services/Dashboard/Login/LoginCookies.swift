import HTTPTypes
import Hummingbird
import ServiceKit
import Workouts

/// The cookies of a login, and of a browser that has logged in before: attempts of strangers do not slow it down.
struct LoginCookies: Sendable {
    private static let browserUnused = 365 * Login.day

    private struct KnownBrowser: Codable { let account: String }

    let keys: LoginKeys
    let isSecure: Bool

    /// Browsers accept `__Host-` over TLS only.
    private var name: String { isSecure ? "__Host-pacebus" : "pacebus" }
    private var browserName: String { "\(name)-browser" }

    /// The login that a request carries, until its end.
    func login(_ headers: HTTPFields, _ now: Timestamp) -> Login? {
        guard let text = Self.value(of: name, headers), let login = keys.open(Login.self, text, for: name),
            now < login.end
        else { return nil }
        return login
    }

    func isKnown(_ headers: HTTPFields, to account: User) -> Bool {
        let browser = Self.value(of: browserName, headers)
            .flatMap { keys.open(KnownBrowser.self, $0, for: browserName) }
        return browser?.account == "\(account)"
    }

    func set(_ login: Login, on response: inout Response) {
        response.setCookie(cookie(name, keys.seal(login, for: name), Login.longest))
        let browser = keys.seal(KnownBrowser(account: "\(login.account)"), for: browserName)
        response.setCookie(cookie(browserName, browser, Self.browserUnused))
    }

    /// Removes the login and leaves the browser known.
    func clear(_ response: inout Response) {
        response.setCookie(cookie(name, "", 0))
    }

    private func cookie(_ name: String, _ value: String, _ age: Double) -> Cookie {
        Cookie(
            name: name, value: value, maxAge: Int(age), path: "/", secure: isSecure, httpOnly: true, sameSite: .strict)
    }

    private static func value(of name: String, _ headers: HTTPFields) -> String? {
        for field in headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let pair = pair.drop { $0 == " " }
                if pair.hasPrefix("\(name)=") { return String(pair.dropFirst(name.utf8.count + 1)) }
            }
        }
        return nil
    }
}
