import Foundation
import HTTPTypes
import Hummingbird
import TestSupport
import Testing

@testable import Dashboard

/// The router's own list of routes, each with a row.
struct RouteTests {
    /// The status without a login, and with one.
    private static let table: [String: (Int, Int)] = [
        "GET /": (200, 200), "GET /live/{user}/{session}": (200, 200), "GET /plans": (200, 200),
        "GET /plans/{plan}": (200, 200), "GET /virtual-runs": (200, 200), "GET /virtual-runs/{run}": (200, 200),
        "GET /operator": (200, 200), "GET /login": (200, 200),
        "GET /workout/{user}/{session}": (200, 200), "GET /history": (200, 200), "GET /account": (200, 200),
        "GET /compare": (200, 200), "GET /pair": (200, 200), "POST /pair": (400, 400), "GET /record": (200, 200),
        "GET /import": (200, 200),
        // One of an unknown version, and no handshake.
        "GET /assets/**": (404, 404), "GET /mqtt": (403, 403),
        "GET /me": (401, 200), "POST /login": (401, 401), "POST /logout": (204, 204),
    ]

    private func path(_ route: Substring) -> String {
        String(route).replacing("**", with: "x/style.css").replacing("{user}", with: "anna")
            .replacing(/\{.*?\}/, with: "6f9619ff-8b86-d011-b42d-00c04fc964ff")
    }

    @Test func `pages hold no data, so all may load them; only the own account is told who it is`() async throws {
        let site = try Site()
        let routes = DashboardRouter(
            logins: site.logins, files: WebFiles(folder: ""), configuration: site.configuration, clock: site.clock,
            connections: Connections(proxy: nil), partitions: 1
        ).build().routes.map { "\($0.method) \($0.path)" }
        #expect(Set(routes) == Set(Self.table.keys), "a route without a row, or a row without a route")
        for route in routes.sorted() {
            let words = route.split(separator: " ")
            let method: HTTPRequest.Method = words[0] == "GET" ? .get : .post
            for browser in [Browser(site), try await Browser.with("anna", site)] {
                let answer = try await browser.send(method, path(words[1]))
                let expected = Self.table[route]
                #expect(answer.status == (browser.cookies.isEmpty ? expected?.0 : expected?.1), "\(route)")
                #expect(answer.headers[.contentSecurityPolicy] != nil)
            }
        }
    }

    @Test func `a page that does not exist is a page, and data that does not exist is not`() async throws {
        let browser = Browser(try Site())
        let missing = try await browser.open("/nowhere")
        #expect(missing.status == 404)
        #expect(try await missing.text() == "<title>missing")
        let policy = try #require(missing.headers[.contentSecurityPolicy])
        #expect(policy.contains("script-src 'self' 'sha256-a' 'sha256-b'; style-src 'self' 'sha256-a' 'sha256-b';"))
        #expect(try await browser.fetch("/nowhere").headers[.contentType]?.hasPrefix("text/html") != true)
    }

    @Test func `no unsafe route accepts a request of another site`() async throws {
        let site = try Site()
        for route in Self.table.keys where !route.hasPrefix("GET") {
            let browser = try await Browser.with("anna", site)
            for origin in ["cross-site", "same-site", "none", nil] {
                let answer = try await browser.send(.post, path(route.split(separator: " ")[1]), site: origin)
                #expect(answer.status == 403, "\(route)")
            }
        }
    }
}
