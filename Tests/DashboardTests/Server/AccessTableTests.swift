import Foundation
import Hummingbird
import TestSupport
import Testing
import Workouts

@testable import Dashboard

/// Who may do what: the router's own list of routes, each with a row.
struct AccessTableTests {
    /// The status without a login, for a stranger, a viewer of anna, anna herself, and the operator. An allowed POST has an empty body
    /// and gets 400.
    private static let table: [String: [Int]] = [
        "GET /": [401, 200, 200, 200, 303],
        // One of an unknown version.
        "GET /assets/{version}/**": [404, 404, 404, 404, 404],
        "GET /login": [200, 303, 303, 303, 303],
        "POST /login": [401, 401, 401, 401, 401],
        "POST /logout": [303, 303, 303, 303, 303],
        "GET /recent": [401, 200, 200, 200, 200],
        "GET /events": [401, 200, 200, 200, 200],
        "GET /operator": [401, 403, 403, 403, 200],
        "GET /operator/events": [401, 403, 403, 403, 200],
        "GET /live/{user}/{session}": [401, 404, 200, 200, 200],
        "GET /live/{user}/{session}/events": [401, 404, 200, 200, 200],
        "POST /live/{user}/{session}/commands": [401, 404, 403, 400, 403],
        "POST /commands": [401, 400, 403, 400, 403],
        // No broker tells the plans.
        "GET /plans": [401, 503, 404, 503, 404],
        "GET /plans.json": [401, 503, 404, 503, 404],
        "GET /plans/{plan}": [401, 503, 404, 503, 404],
        "GET /plans/{plan}/plan.json": [401, 503, 404, 503, 404],
        "POST /plans/{plan}": [401, 400, 403, 400, 403],
        "GET /virtual-runs": [401, 200, 404, 200, 404],
        "GET /virtual-runs/{run}": [401, 200, 404, 200, 404],
        "GET /virtual-runs/{run}/events": [401, 200, 404, 200, 404],
        "POST /virtual-runs/requests": [401, 400, 403, 400, 403],
        "POST /virtual-runs/reads": [401, 400, 403, 400, 403],
    ]

    private static let people: [String?] = [nil, "ben", "coach", "anna", "_operator"]

    @Test func `each route answers without a login and to a stranger, viewer, owner and operator as its row says`()
        async throws
    {
        try await Site.run { site in
            let routes = DashboardRouter.build(site.parts).routes.map { "\($0.method) \($0.path)" }
            #expect(Set(routes) == Set(Self.table.keys), "a route without a row, or a row without a route")
            for (column, person) in Self.people.enumerated() {
                for route in routes.sorted() {
                    // Logging out ends a login.
                    let browser = try await Browser.with(person, site)
                    let answer = try await self.answer(to: route, browser)
                    let expected = Self.table[route]?[column]
                    #expect(answer.status == expected, "\(route) as \(person ?? "no login")")
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

    @Test func `the home page offers a start and virtual runs to athletes, not to viewers`() async throws {
        try await Site.run { site in
            for (person, isOffered) in [("anna", true), ("coach", false)] {
                let browser = try await Browser.with(person, site)
                let page = try await browser.open("/").text()
                for part in [#"id="start-new""#, #"id="start-dialog""#, #"href="/virtual-runs""#] {
                    #expect(page.contains(part) == isOffered, "\(part) for \(person)")
                }
                #expect(page.contains(#"id="recent""#))
            }
            let coach = try await Browser.with("coach", site)
            let refused = try await coach.post("/commands", json: "{}")
            #expect(try await refused.text().contains("coach is a viewer's account and controls no workout"))
        }
    }

    @Test func `without a login every page redirects to the login and back, and an unknown path is none`() async throws
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
            let missing = try await anna.open("/nowhere")
            #expect(missing.status == 404)
            #expect(missing.headers[.contentType]?.hasPrefix("text/html") == true, "people read a page")
            #expect(try await anna.fetch("/nowhere").headers[.contentType]?.hasPrefix("text/html") != true)
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
