import Bus
import Foundation
import HTTPTypes
import Hummingbird
import MQTT
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
