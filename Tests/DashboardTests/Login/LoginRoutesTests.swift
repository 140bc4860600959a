import Foundation
import HTTPTypes
import MQTT
import ServiceKit
import Storage
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct LoginRoutesTests {
    @Test func `a login sets cookies and leads back, a logout ends it`() async throws {
        try await Site.run { site in
            let browser = Browser(site)
            let page = try await browser.open("/login?to=/plans")
            #expect(page.headers[.cacheControl] == "no-store")
            #expect(try await page.text().contains(#"name="to" value="/plans""#))
            let answer = try await browser.post(
                "/login", form: ["name": " anna ", "password": "anna", "to": "/plans"])
            #expect(answer.status == 303)
            #expect(answer.location == "/plans")
            let cookie = try #require(answer.headers[values: .setCookie].first { $0.hasPrefix("pacebus=") })
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/"))
            #expect(!cookie.contains("Secure"))
            #expect(try await browser.fetch("/").status == 200)
            let stolen = browser.cookies
            let logout = try await browser.post("/logout", form: [:])
            #expect(logout.headers[.clearSiteData] == #""cache""#)
            #expect(try await browser.fetch("/").status == 401)
            let token = try #require(LoginToken(stolen["pacebus"] ?? ""))
            #expect(site.parts.logins.login(token) == nil)
        }
    }

    @Test func `over TLS the cookie is bound to the host, and browsers stay on TLS`() async throws {
        func settings(_ configuration: inout DashboardConfiguration, _: inout ServiceConfiguration) {
            configuration.trustedProxy = "192.0.2.1"
            configuration.publicURL = "https://run.example.org"
        }
        try await Site.run(settings: settings) { site in
            let browser = try await Browser.with("anna", site)
            #expect(browser.cookies.keys.sorted() == ["__Host-pacebus", "__Host-pacebus-browser"])
            let answer = try await browser.fetch("/")
            #expect(answer.headers[.strictTransportSecurity] != nil)
            #expect(answer.status == 200)
        }
    }

    @Test func `every failure has the same words and takes 300 ms`() async throws {
        try await Site.run { site in
            var texts: Set<String> = []
            for (name, password) in [
                ("anna", "wrong"), ("nobody", "x"), ("_session-engine", "x"), ("no such name", "x"), ("anna", ""),
                ("", ""), ("anna", String(repeating: "x", count: 1_000)),
            ] {
                let begun = ContinuousClock.now
                let browser = Browser(site)
                let answer = try await browser.post("/login", form: ["name": name, "password": password])
                #expect(answer.status == 401)
                #expect(ContinuousClock.now - begun >= .milliseconds(300))
                texts.insert(
                    try await answer.text().replacing(#"value="\#(name)""#, with: #"value="""#)
                        .replacing(" autofocus", with: ""))
                #expect(browser.cookies.isEmpty)
            }
            #expect(texts.count == 1)
            #expect(texts.first?.contains("Name or password is wrong.") == true)
        }
    }

    @Test func `a name in the form is escaped`() async throws {
        try await Site.run { site in
            let name = #""><script>alert(1)</script>"#
            let answer = try await Browser(site).post("/login", form: ["name": name, "password": "x", "to": name])
            #expect(try await !answer.text().contains("<script>alert"))
        }
    }

    @Test func `without the broker passwords cannot be checked, and nothing counts as a failure`() async throws {
        @Sendable func ask(_: RightsProbes.Credential) async -> BrokerAccounts.Answer { .unavailable }
        try await Site.run(ask: ask) { site in
            for _ in 0..<8 {
                let answer = try await Browser(site).post("/login", form: ["name": "anna", "password": "anna"])
                #expect(answer.status == 503)
                #expect(answer.headers[.retryAfter] == "60")
                #expect(try await answer.text().contains("Passwords cannot be checked now."))
            }
        }
    }

    @Test(arguments: [
        ("/plans?x=1", "/plans?x=1"), ("//evil.example", "/"), ("/\\evil.example", "/"), ("https://evil.example", "/"),
        ("", "/"), ("/\t/evil.example", "/"), ("/ä", "/"), ("javascript:alert(1)", "/"), ("/\r\nSet-Cookie: a=b", "/"),
    ])
    func `a login leads to a path of this site alone`(target: String, path: String) {
        #expect(target.sameSitePath == path)
    }

    @Test func `a restart logs nobody out, and a full disk lets nobody in or silently out`() async throws {
        let store = MemoryStore.owningAll()
        var cookies: [String: String] = [:]
        try await Site.run(store: store) { site in
            let browser = try await Browser.with("anna", site)
            cookies = browser.cookies
            store.refuse()
            let other = Browser(site)
            #expect(try await other.post("/login", form: ["name": "ben", "password": "ben"]).status == 503)
            #expect(other.cookies.isEmpty)
            store.accept()
        }
        store.gain(Set(Shard.all))
        try await Site.run(store: store) { site in
            let token = try #require(LoginToken(cookies["pacebus"] ?? ""))
            let login = site.parts.logins.login(token)
            #expect(login?.user == User("anna"))
            #expect(login?.password == Secret("anna"))
        }
    }

    @Test func `a restart does not look like a logout while logins are loaded`() async throws {
        try await Site.run(isLoaded: false) { site in
            let browser = Browser(site, cookies: ["pacebus": LoginToken().text])
            for answer in [try await browser.open("/"), try await browser.fetch("/events")] {
                #expect(answer.status == 503)
                #expect(answer.headers[.retryAfter] == "1")
                #expect(answer.headers[.contentSecurityPolicy] != nil)
            }
            #expect(try await Browser(site).fetch("/events").status == 401)
        }
    }

    @Test func `everywhere ends all logins of the account and no other`() async throws {
        try await Site.run { site in
            let (one, two, coach) = (
                try await Browser.with("anna", site), try await Browser.with("anna", site),
                try await Browser.with("coach", site)
            )
            _ = try await one.post("/logout", form: ["everywhere": "yes"])
            #expect(try await two.fetch("/").status == 401)
            #expect(try await coach.fetch("/").status == 200)
        }
    }

    @Test func `a guesser is slowed down, and the owner logs in`() async throws {
        try await Site.run { site in
            let owner = try await Browser.with("anna", site)
            _ = try await owner.post("/logout", form: [:])
            var begun = ContinuousClock.now
            for _ in 0..<5 {
                begun = ContinuousClock.now
                _ = try await Browser(site).post("/login", form: ["name": "anna", "password": "wrong"])
            }
            let stranger = Browser(site)
            #expect(try await stranger.post("/login", form: ["name": "anna", "password": "anna"]).status == 303)
            #expect(ContinuousClock.now - begun >= .seconds(1))
            #expect(try await owner.post("/login", form: ["name": "anna", "password": "anna"]).status == 303)
        }
    }

    @Test func `four passwords are checked at one time`() async throws {
        let running = Mutex((now: 0, most: 0))
        @Sendable func ask(_: RightsProbes.Credential) async -> BrokerAccounts.Answer {
            running.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            _ = await eventually { running.withLock { $0.most >= 4 } }
            for _ in 0..<100 { await Task.yield() }
            running.withLock { $0.now -= 1 }
            return .accepted([])
        }
        try await Site.run(ask: ask) { site in
            await withTaskGroup(of: LoginService.Answer.self) { tasks in
                for index in 0..<16 {
                    let network = ClientNetwork("192.0.2.\(index)")
                    tasks.addTask { await site.parts.logins.logIn("user\(index)", "x", from: network, browser: nil) }
                }
                await tasks.waitForAll()
            }
        }
        #expect(running.withLock(\.most) == 4)
    }

    @Test func `a password that the broker refuses ends the account's logins`() async throws {
        let isRefused = Mutex(false)
        let clock = ManualClock()
        @Sendable func ask(_ credential: RightsProbes.Credential) async -> BrokerAccounts.Answer {
            let isAnnas = credential.account == AccountName("anna")
            return isRefused.withLock(\.self) && isAnnas ? .refused : await Site.answer(credential)
        }
        try await Site.run(clock: clock, ask: ask) { site in
            let (anna, coach) = (try await Browser.with("anna", site), try await Browser.with("coach", site))
            #expect(try await anna.fetch("/").status == 200)
            isRefused.withLock { $0 = true }
            for _ in 0..<6 {
                try await clock.waitForSleepers(2)
                clock.advance(by: .seconds(60))
                _ = try await coach.fetch("/")
            }
            #expect(try await eventually { try await anna.fetch("/").status == 401 })
            #expect(try await coach.fetch("/").status == 200)
        }
    }
}
