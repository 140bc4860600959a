import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import MQTT
import NIOCore
import NIOEmbedded
import ServiceKit
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct LoginRoutesTests {
    @Test func `a login sets cookies, and a logout ends it`() async throws {
        let site = try Site()
        let browser = Browser(site)
        let answer = try await browser.logIn("%20anna%20", "anna")
        #expect(answer.status == 204)
        #expect(answer.headers[.cacheControl] == "no-store")
        let cookie = try #require(answer.headers[values: .setCookie].first { $0.hasPrefix("pacebus=") })
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/"))
        #expect(!cookie.contains("Secure") && !cookie.contains("anna"))
        #expect(try await browser.account() == "anna")
        let stolen = browser.cookies
        #expect(try await browser.logOut().status == 204)
        #expect(browser.cookies.keys.sorted() == ["pacebus-browser"])
        #expect(try await Browser(site, cookies: stolen).account() == nil)
    }

    @Test func `the page learns who reads it, and what the server is`() async throws {
        let clock = ManualClock()
        let tiles = try DashboardConfiguration.Tiles("https://tiles.example/{z}/{x}/{y}.png © Example")
        let site = try Site(clock: clock) { $0.tiles = tiles }
        let browser = try await Browser.with("anna", site)
        struct Reader: Decodable {
            struct Tiles: Decodable { let url: String, attribution: String }
            let user: String, login: String, viewer: Bool, now: Double, version: String, tiles: Tiles?
        }
        let answer = try await browser.fetch("/me")
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect(answer.headers[.setCookie] == nil)
        let reader = try JSONDecoder().decode(Reader.self, from: Data(try await answer.text().utf8))
        #expect(reader.user == "anna" && !reader.viewer && reader.version == "test")
        #expect(reader.now == clock.now.seconds)
        #expect(
            reader.tiles?.url == "https://tiles.example/{z}/{x}/{y}.png" && reader.tiles?.attribution == "© Example")
        // Once a day the cookie is written again.
        clock.advance(by: .seconds(86_400))
        #expect(try await browser.fetch("/me").headers[values: .setCookie].contains { $0.hasPrefix("pacebus=") })
        #expect(try await browser.fetch("/me").headers[.setCookie] == nil)
        for _ in 0..<5 {
            clock.advance(by: .seconds(6 * 86_400))
            _ = try await browser.account()
        }
        #expect(try await browser.account() == nil, "31 days after the login")
    }

    @Test func `over TLS the cookie is bound to the host, and with a public URL browsers stay on TLS`() async throws {
        let site = try Site {
            $0.trustedProxy = "192.0.2.1"
            $0.publicURL = "https://run.example.org"
        }
        let browser = try await Browser.with("anna", site, peer: "192.0.2.1")
        #expect(browser.cookies.keys.sorted() == ["__Host-pacebus", "__Host-pacebus-browser"])
        let answer = try await browser.fetch("/")
        #expect(answer.headers[.strictTransportSecurity] == "max-age=31536000")
        #expect(answer.headers[.xContentTypeOptions] == "nosniff")
        #expect(answer.headers[.crossOriginOpenerPolicy] == "same-origin")
        #expect(answer.headers[.referrerPolicy] == "strict-origin")
        #expect(answer.headers[.cacheControl] == "no-cache")
        #expect(answer.status == 200)
        // Past the proxy there is no TLS.
        browser.peer = "192.0.2.2"
        #expect(try await browser.fetch("/").status == 403)
        #expect(try await browser.logIn("anna").status == 403)
        let local = try Site {
            $0.certificateFile = "cert.pem"
            $0.keyFile = "key.pem"
        }
        #expect(try await Browser(local).fetch("/").headers[.strictTransportSecurity] == nil)
    }

    @Test(arguments: [
        ("127.0.0.1:8080", true), ("localhost:8080", true), ("[::1]:8080", true), ("192.0.2.1:8080", false),
        ("run.example.org", false), ("127.0.0.1.example.org", false), ("0.0.0.0:8080", false), ("", false),
    ])
    func `a container without TLS shows its login at loopback addresses alone`(
        authority: String, isShown: Bool
    ) async throws {
        let site = try Site {
            $0.host = "0.0.0.0"
            $0.publicURL = "http://127.0.0.1:8080"
        }
        let browser = Browser(site)
        browser.authority = authority
        #expect(try await browser.open("/login").status == (isShown ? 200 : 403))
        #expect(try await browser.logIn("anna").status == (isShown ? 204 : 403))
    }

    @Test(arguments: [
        ("198.51.100.1", "198.51.100.1", true), ("198.51.100.1:4711", "198.51.100.1:4712", true),
        ("[2001:db8::1]:1", "2001:db8::2", true), ("1.1.1.1, 198.51.100.1", "198.51.100.1", true),
        ("text", "other text", true), ("198.51.100.1", "198.51.100.2", false),
    ])
    func `behind the proxy guesses of one network slow down, whatever the form of its address`(
        first: String, second: String, isSlowed: Bool
    ) async throws {
        let site = try Site {
            $0.trustedProxy = "192.0.2.1"
            $0.publicURL = "https://run.example.org"
        }
        let network = { (text: String) -> String in
            var context = DashboardContext(
                source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: .silent))
            context.peer = "192.0.2.1"
            let head = HTTPRequest(
                method: .get, scheme: "http", authority: "x", path: "/", headerFields: [.forwardedFor: text])
            let address = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
                .clientAddress(context, site.configuration)
            return ClientNetwork(address).description
        }
        #expect((network(first) == network(second)) == isSlowed)
    }

    @Test func `every failure has the same words and takes 300 ms`() async throws {
        let site = try Site()
        var texts: Set<String> = []
        for (name, password) in [
            ("anna", "wrong"), ("nobody", "x"), ("_session-engine", "x"), ("no%20such%20name", "x"), ("anna", ""),
            ("", ""), ("anna", String(repeating: "x", count: 1_000)),
        ] {
            let begun = ContinuousClock.now
            let browser = Browser(site)
            let answer = try await browser.logIn(name, password)
            #expect(answer.status == 401)
            #expect(ContinuousClock.now - begun >= .milliseconds(300))
            texts.insert(try await answer.text())
            #expect(browser.cookies.isEmpty)
        }
        #expect(texts == [#"{"error":{"message":"Name or password is wrong."}}"#])
    }

    @Test func `without the broker passwords cannot be checked, and nothing counts as a failure`() async throws {
        let site = try Site(check: { _, _ in .unavailable })
        for _ in 0..<8 {
            let answer = try await Browser(site).logIn("anna")
            #expect(answer.status == 503)
            #expect(answer.headers[.retryAfter] == "60")
            #expect(try await answer.text().contains("Passwords cannot be checked now."))
        }
    }

    @Test func `a cookie opens every replica with the key, also after a restart, and no other`() async throws {
        let keys = LoginKeys()
        let cookies = try await Browser.with("anna", try Site { $0.loginKeys = keys }).cookies
        #expect(try await Browser(try Site { $0.loginKeys = keys }, cookies: cookies).account() == "anna")
        #expect(try await Browser(try Site(), cookies: cookies).account() == nil)
    }

    @Test func `a restart does not look like a logout while ended logins are unknown`() async throws {
        let keys = LoginKeys()
        let cookies = try await Browser.with("anna", try Site { $0.loginKeys = keys }).cookies
        let site = try Site(isReady: false) { $0.loginKeys = keys }
        let browser = Browser(site, cookies: cookies)
        let answer = try await browser.fetch("/me")
        #expect(answer.status == 503)
        #expect(answer.headers[.retryAfter] == "1")
        #expect(try await Browser(site).fetch("/me").status == 401)
        #expect(try await browser.open("/").status == 200, "a page holds no data")
        try site.begin()
        #expect(try await browser.account() == "anna")
    }

    @Test func `a sign-out ends the logins that it names, and no other`() async throws {
        let site = try Site()
        let (one, two, coach) = (
            try await Browser.with("anna", site), try await Browser.with("anna", site),
            try await Browser.with("coach", site)
        )
        func publish(_ payload: String) throws {
            let message = MQTTMessage(
                topic: "pacebus/v1/u/anna/signed-out", payload: Array(payload.utf8), qos: .atMostOnce)
            try site.logins.receive(message, site.clock.moment)
        }
        struct Reader: Decodable { let login: String }
        let id = try JSONDecoder().decode(Reader.self, from: Data(try await one.fetch("/me").text().utf8)).login
        try publish(#"{"logins":[{"id":"\#(id)","at":1}],"revision":1}"#)
        #expect(try await one.account() == nil)
        #expect(try await two.account() == "anna")
        try publish(#"{"before":\#(site.clock.now.seconds + 1),"logins":[{"id":"\#(id)","at":1}],"revision":2}"#)
        #expect(try await two.account() == nil)
        #expect(try await coach.account() == "coach")
    }

    @Test func `a pairing logs one browser in, once, within its time`() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock(now: Timestamp(seconds: 1_000_000))
        let site = try Site(clock: clock) { $0.pairings = Pairings(folder: folder.path) }
        func leave(_ digits: String) throws -> String {
            let token = String(repeating: digits, count: 32)
            let pairing = Pairings.Pairing(
                user: "anna", device: "phone-1", password: "secret", until: Timestamp(seconds: 1_000_300))
            let sealed = try #require(LoginKeys(token)).seal(pairing, for: "pairing")
            try folder.write(sealed, to: Pairings.name(of: token))
            return token
        }
        let (token, late) = (try leave("a1"), try leave("b2"))
        let browser = Browser(site)
        for unknown in ["", "../..", String(repeating: "a2", count: 32)] {
            #expect(try await browser.pair(unknown, "&accept=true").status == 404)
        }
        let asked = try await browser.pair(token)
        #expect(try await asked.text() == #"{"device":"phone-1","user":"anna"}"# && browser.cookies.isEmpty)
        #expect(try await browser.pair(token, "&accept=true", site: "cross-site").status == 403)
        clock.advance(by: .seconds(299))
        #expect(try await browser.pair(token, "&accept=true").status == 204)
        #expect(try await browser.account() == "anna")
        #expect(try await Browser(site).pair(token, "&accept=true").status == 404, "it is used")
        clock.advance(by: .seconds(1))
        #expect(try await Browser(site).pair(late, "&accept=true").status == 404, "it is over")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [Pairings.name(of: late)])
        #expect(try await Browser(try Site()).pair(late).status == 404, "no folder is set")
    }

    @Test func `a guesser is slowed down, and the owner logs in`() async throws {
        let site = try Site()
        let owner = try await Browser.with("anna", site)
        _ = try await owner.logOut()
        var begun = ContinuousClock.now
        for _ in 0..<5 {
            begun = ContinuousClock.now
            _ = try await Browser(site).logIn("anna", "wrong")
        }
        #expect(try await Browser(site).logIn("anna").status == 204)
        #expect(ContinuousClock.now - begun >= .seconds(1))
        #expect(try await owner.logIn("anna").status == 204)
    }

    @Test func `four passwords are checked at one time`() async throws {
        let running = Mutex((now: 0, most: 0))
        let site = try Site(check: { _, _ in
            running.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            _ = await eventually { running.withLock { $0.most >= 4 } }
            for _ in 0..<100 { await Task.yield() }
            running.withLock { $0.now -= 1 }
            return .accepted
        })
        await withTaskGroup(of: Login?.self) { tasks in
            for index in 0..<16 {
                let network = ClientNetwork("192.0.2.\(index)")
                tasks.addTask { try? await site.logins.logIn("user\(index)", "x", from: network, [:]) }
            }
            await tasks.waitForAll()
        }
        #expect(running.withLock(\.most) == 4)
    }
}
