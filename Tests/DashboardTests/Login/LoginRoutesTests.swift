import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import MQTT
import NIOCore
import NIOEmbedded
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
            let text = try await page.text()
            #expect(text.contains(#"name="to" value="/plans""#))
            #expect(text.contains("Log in to Pacebus") && text.contains("compose/user add NAME"))
            #expect(text.contains("up to \(Int(LoginAttempts.longestWait)) seconds"))
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
            #expect(await site.parts.logins.login(token) == nil)
        }
    }

    @Test func `over TLS the cookie is bound to the host, and browsers stay on TLS`() async throws {
        func settings(_ configuration: inout DashboardConfiguration, _: inout ServiceConfiguration) {
            configuration.trustedProxy = "192.0.2.1"
            configuration.publicURL = "https://run.example.org"
        }
        try await Site.run(settings: settings) { site in
            let browser = try await Browser.with("anna", site, peer: "192.0.2.1")
            #expect(browser.cookies.keys.sorted() == ["__Host-pacebus", "__Host-pacebus-browser"])
            let answer = try await browser.fetch("/")
            #expect(answer.headers[.strictTransportSecurity] == "max-age=31536000")
            #expect(answer.headers[.xContentTypeOptions] == "nosniff")
            #expect(answer.headers[.crossOriginOpenerPolicy] == "same-origin")
            #expect(answer.headers[.referrerPolicy] == "strict-origin")
            #expect(answer.headers[.cacheControl] == "private, no-cache")
            #expect(answer.status == 200)
            // Past the proxy there is no TLS.
            browser.peer = "192.0.2.2"
            #expect(try await browser.fetch("/").status == 403)
            #expect(try await browser.post("/login", form: ["name": "anna", "password": "anna"]).status == 403)
        }
    }

    @Test(arguments: [
        ("127.0.0.1:8080", true), ("localhost:8080", true), ("[::1]:8080", true), ("192.0.2.1:8080", false),
        ("run.example.org", false), ("127.0.0.1.example.org", false), ("0.0.0.0:8080", false), ("", false),
    ])
    func `a container without TLS shows its login at loopback addresses alone`(
        authority: String, isShown: Bool
    ) async throws {
        func settings(_ configuration: inout DashboardConfiguration, _: inout ServiceConfiguration) {
            configuration.host = "0.0.0.0"
            configuration.publicURL = "http://127.0.0.1:8080"
        }
        try await Site.run(settings: settings) { site in
            let browser = Browser(site)
            browser.authority = authority
            #expect(try await browser.open("/login").status == (isShown ? 200 : 403))
            let answer = try await browser.post("/login", form: ["name": "anna", "password": "anna"])
            #expect(answer.status == (isShown ? 303 : 403))
        }
    }

    @Test(arguments: [
        ("198.51.100.1", "198.51.100.1", true), ("198.51.100.1:4711", "198.51.100.1:4712", true),
        ("[2001:db8::1]:1", "2001:db8::2", true), ("1.1.1.1, 198.51.100.1", "198.51.100.1", true),
        ("text", "other text", true), ("198.51.100.1", "198.51.100.2", false),
    ])
    func `behind the proxy guesses of one network slow down, whatever the form of its address`(
        first: String, second: String, isSlowed: Bool
    ) async throws {
        func settings(_ configuration: inout DashboardConfiguration, _: inout ServiceConfiguration) {
            configuration.trustedProxy = "192.0.2.1"
            configuration.publicURL = "https://run.example.org"
        }
        let clock = ManualClock()
        try await Site.run(clock: clock, settings: settings) { site in
            let network = { (text: String) -> String in
                var context = DashboardContext(
                    source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: .silent))
                context.peer = "192.0.2.1"
                let head = HTTPRequest(
                    method: .get, scheme: "http", authority: "x", path: "/", headerFields: [.forwardedFor: text])
                let address = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
                    .clientAddress(context, site.parts.configuration)
                return ClientNetwork(address).description
            }
            #expect((network(first) == network(second)) == isSlowed)
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

    @Test func `logins survive a restart, and with a full disk no login begins and none ends silently`() async throws {
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
            let login = await site.parts.logins.login(token)
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
            // A proxy asks for this page to find the replica that serves.
            #expect(try await Browser(site).open("/login").status == 503)
        }
    }

    @Test func `everywhere ends all logins of the account and no other`() async throws {
        try await Site.run { site in
            let (one, two, coach) = (
                try await Browser.with("anna", site), try await Browser.with("anna", site),
                try await Browser.with("coach", site)
            )
            let menu = try await one.open("/").text()
            #expect(menu.contains(#"name="everywhere" value="yes">Log out everywhere</button>"#))
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
            return .accepted(AccountRights(seen: []))
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

    @Test func `requests of an idle login wait for one probe`() async throws {
        let asked = Mutex(0)
        let clock = ManualClock()
        @Sendable func ask(_ credential: RightsProbes.Credential) async -> BrokerAccounts.Answer {
            asked.withLock { $0 += 1 }
            for _ in 0..<1_000 { await Task.yield() }
            return await Site.answer(credential)
        }
        try await Site.run(clock: clock, ask: ask) { site in
            let token = try #require(LoginToken(try await Browser.with("coach", site).cookies["pacebus"] ?? ""))
            try await clock.waitForSleepers(2)
            clock.advance(by: .seconds(1_000))
            try await clock.waitForSleepers(2)
            asked.withLock { $0 = 0 }
            await withTaskGroup(of: Login?.self) { tasks in
                for _ in 0..<8 { tasks.addTask { await site.parts.logins.login(token) } }
                for await login in tasks { #expect(login != nil) }
            }
            #expect(asked.withLock(\.self) == 1)
        }
    }

    @Test(arguments: [true, false])
    func `an answer of the broker that may be older than a change is not the last one`(isLogin: Bool) async throws {
        let seen = Mutex<Set<User>>([User("coach")!, User("anna")!])
        let change = Mutex<(@Sendable () -> Void)?>(nil)
        @Sendable func ask(_: RightsProbes.Credential) async -> BrokerAccounts.Answer {
            let answer = AccountRights(seen: seen.withLock(\.self), isViewer: true)
            change.withLock(\.self)?()
            return .accepted(answer)
        }
        let clock = ManualClock()
        try await Site.run(clock: clock, ask: ask) { site in
            let logins = site.parts.logins
            func shrink() {
                change.withLock {
                    $0 = {
                        change.withLock { $0 = nil }
                        seen.withLock { $0 = [User("coach")!] }
                        logins.receive([
                            MQTTMessage(topic: "$SYS/pacebus/accounts/coach", payload: [], qos: .atLeastOnce)
                        ])
                    }
                }
            }
            if isLogin { shrink() }
            let token = try #require(LoginToken(try await Browser.with("coach", site).cookies["pacebus"] ?? ""))
            if !isLogin {
                shrink()
                try await clock.waitForSleepers(2)
                clock.advance(by: .seconds(1_000))
                _ = await logins.login(token)
            }
            #expect(await logins.login(token)?.seen == [User("coach")!])
        }
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
