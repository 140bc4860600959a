import Foundation
import Hummingbird
import TestSupport
import Testing
import Workouts

@testable import Dashboard

/// Who may do what: the router's own list of routes, each with a row.
struct AccessTableTests {
    /// The status for nobody, a stranger, a viewer of anna, anna herself, and the operator. An allowed POST has an empty body
    /// and gets 400.
    private static let table: [String: [Int]] = [
        "GET /": [401, 200, 200, 200, 200],
        // One of an unknown version.
        "GET /assets/{version}/**": [404, 404, 404, 404, 404],
        "GET /login": [200, 303, 303, 303, 303],
        "POST /login": [401, 401, 401, 401, 401],
        "POST /logout": [401, 303, 303, 303, 303],
        "GET /events": [401, 200, 200, 200, 200],
        "GET /operator/events": [401, 404, 404, 404, 200],
        "GET /live/{user}/{session}": [401, 404, 200, 200, 200],
        "GET /live/{user}/{session}/events": [401, 404, 200, 200, 200],
        "POST /live/{user}/{session}/commands": [401, 404, 403, 400, 403],
        "POST /commands": [401, 400, 400, 400, 403],
        "POST /plans/{plan}": [401, 400, 400, 400, 403],
        "GET /virtual-runs": [401, 200, 200, 200, 404],
        "GET /virtual-runs/{run}": [401, 200, 200, 200, 404],
        "GET /virtual-runs/{run}/events": [401, 200, 200, 200, 404],
        "POST /virtual-runs/requests": [401, 400, 400, 400, 403],
    ]

    private static let people: [String?] = [nil, "ben", "coach", "anna", "_operator"]

    @Test func `each route answers nobody, stranger, viewer, owner and operator as its row says`() async throws {
        try await Site.run { site in
            let routes = DashboardRouter.build(site.parts).routes.map { "\($0.method) \($0.path)" }
            #expect(Set(routes) == Set(Self.table.keys), "a route without a row, or a row without a route")
            for (column, person) in Self.people.enumerated() {
                for route in routes.sorted() {
                    // Logging out ends a login.
                    let browser = try await Browser.with(person, site)
                    let answer = try await self.answer(to: route, browser)
                    let expected = Self.table[route]?[column]
                    #expect(answer.status == expected, "\(route) as \(person ?? "nobody")")
                    #expect(answer.headers[.contentSecurityPolicy] != nil)
                }
            }
        }
    }

    private func answer(to route: String, _ browser: Browser) async throws -> Answer {
        let words = route.split(separator: " ").map(String.init)
        let path = words[1].replacing("{user}", with: "anna")
            .replacing("{session}", with: "6f9619ff-8b86-d011-b42d-00c04fc964ff")
            .replacing("{plan}", with: "6f9619ff-8b86-d011-b42d-00c04fc964ff")
            .replacing("{run}", with: "6f9619ff-8b86-d011-b42d-00c04fc964ff")
        if words[0] == "GET" { return try await browser.fetch(path) }
        if path.hasPrefix("/log") { return try await browser.post(path, form: [:]) }
        return try await browser.post(path, json: "{}")
    }

    @Test func `nobody is redirected from every page to the login and back, and an unknown path is none`() async throws
    {
        try await Site.run { site in
            let browser = Browser(site)
            for (path, target) in [
                ("/", "/login?to=/"), ("/live/anna/x?tab=2", "/login?to=/live/anna/x%3Ftab%3D2"),
                ("/nowhere", "/login?to=/nowhere"),
            ] {
                let answer = try await browser.open(path)
                #expect(answer.status == 303)
                #expect(answer.location == target)
            }
            #expect(try await browser.fetch("/nowhere").status == 401)
            let anna = try await Browser.with("anna", site)
            #expect(try await anna.open("/nowhere").status == 404)
            #expect(try await anna.open("/nowhere").headers[.contentSecurityPolicy] != nil)
        }
    }

    @Test func `no unsafe route accepts a request of another site`() async throws {
        try await Site.run { site in
            for route in Self.table.keys where !route.hasPrefix("GET") {
                let browser = try await Browser.with("anna", site)
                let path = String(route.split(separator: " ")[1]).replacing("{user}", with: "anna")
                for origin in ["cross-site", "same-site", "none", nil] {
                    #expect(try await browser.post(path, form: [:], site: origin).status == 403, "\(route)")
                }
            }
        }
    }
}
