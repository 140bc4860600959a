import Bus
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

struct EventStreamTests {
    private let key = sessionKey(anna, 1)

    @Test func `the ninth stream of a login gets 503 and when to try again, another login a stream`() async throws {
        try await Site.run { site in
            let browser = try await Browser.with("anna", site)
            for _ in 0..<8 { #expect(try await browser.fetch("/events").status == 200) }
            let ninth = try await browser.fetch("/events")
            #expect(ninth.status == 503)
            #expect(ninth.headers[.retryAfter] == "5")
            #expect(try await Browser.with("anna", site).fetch("/events").status == 200)
        }
    }

    @Test func `a page's next stream replaces the one before, so reconnecting reaches no limit`() async throws {
        try await Site.run { site in
            let browser = try await Browser.with("anna", site)
            let other = try await browser.fetch("/events?page=b")
            #expect(other.status == 200)
            var streams: [Answer] = []
            for _ in 0..<20 { streams.append(try await browser.fetch("/events?page=a")) }
            #expect(streams.allSatisfy { $0.status == 200 })
            #expect(site.parts.hub.read { $0.streams.count } == 2)
            // A replaced stream ends at once.
            #expect(try await streams[18].text() == "")
            // Another login's page has the same name.
            #expect(try await Browser.with("anna", site).fetch("/events?page=a").status == 200)
            #expect(site.parts.hub.read { $0.streams.count } == 3)
        }
    }

    @Test func `a stream carries the payload unchanged, and ends when its login does`() async throws {
        try await Site.run { site in
            let browser = try await Browser.with("coach", site)
            let path = "/live/anna/\(key.session)/events"
            let stream = try await browser.fetch(path)
            #expect(stream.headers[.contentType] == "text/event-stream; charset=utf-8")
            #expect(stream.headers[.cacheControl] == "no-store")
            let payload = #"{"s":7,"u":"anna","x":"ü \"1\""}"#
            let rejected = site.parts.hub.receive([
                Topic.session(key, .metrics).message(Array(payload.utf8)),
                Topic.session(key, .metrics).message(Array("{\n}".utf8)),
                Topic.session(sessionKey(ben, 1), .state).message(Array(#"{"revision":1}"#.utf8)),
            ])
            #expect(rejected.count == 1)
            #expect(try await browser.post("/logout", form: [:]).status == 303)
            let text = try await stream.text()
            #expect(text.contains("event: metrics\ndata: \(payload)\n\n"))
            #expect(text.hasSuffix("event: end\ndata: {\"reason\":\"login\"}\n\n"))
            #expect(!text.contains("event: state"))
            #expect(site.parts.hub.read { $0.streams.isEmpty })
            #expect(try await browser.fetch(path).status == 401)
        }
    }

    @Test(arguments: [true, false])
    func `a stream does not begin if its login changed after the request was checked`(isOver: Bool) async throws {
        let seen = Mutex<Set<User>>([User("coach")!, anna])
        @Sendable func ask(_: RightsProbes.Credential) async -> BrokerAccounts.Answer {
            .accepted(AccountRights(seen: seen.withLock(\.self), isViewer: true))
        }
        try await Site.run(ask: ask) { site in
            let browser = try await Browser.with("coach", site)
            let token = try #require(LoginToken(browser.cookies["pacebus"] ?? ""))
            let former = try #require(await site.parts.logins.login(token))
            func stream() throws -> Response {
                let head = HTTPRequest(method: .get, scheme: "http", authority: "x", path: "/events")
                let context = DashboardContext(
                    source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: .silent))
                return try DashboardRouter.stream(
                    .home(former.seen), former, Request(head: head, body: RequestBody(buffer: ByteBuffer())), context,
                    site.parts)
            }
            #expect(try stream().status == .ok)
            if isOver {
                _ = try await browser.post("/logout", form: [:])
            } else {
                seen.withLock { $0 = [User("coach")!] }
                _ = try await Browser.with("coach", site)
            }
            let error = #expect(throws: HTTPError.self) { _ = try stream() }
            #expect(error?.status == .serviceUnavailable)
            #expect(site.parts.hub.read { $0.streams.values.allSatisfy(\.isEnding) })
        }
    }

    @Test func `before the process ends all streams end, and no new one begins`() async throws {
        try await Site.run { site in
            let browser = try await Browser.with("anna", site)
            let stream = try await browser.fetch("/events")
            site.parts.hub.endAll()
            #expect(try await stream.text().hasSuffix("event: end\ndata: {\"reason\":\"restart\"}\n\n"))
            #expect(try await browser.fetch("/events").status == 503)
        }
    }
}
