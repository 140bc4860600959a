import Bus
import Foundation
import Storage
import TestSupport
import Testing
import Workouts

@testable import Dashboard

/// Two dashboards on one store: the owner of the records serves, and the other stands by.
struct StandbyTests {
    /// Runs `body` with both. The first one serves, and the function passes the records to the other or back.
    private func run(
        _ body: (_ first: Site, _ second: Site, _ swap: () async throws -> Void) async throws -> Void
    ) async throws {
        let database = MemoryDatabase()
        let (one, two) = (database.replica(), database.replica())
        one.gain(Set(Shard.all))
        two.gain([])
        try await Site.run(store: one) { first in
            try await Site.run(store: two) { second in
                var (owner, other) = ((first, one), (second, two))
                try await body(first, second) {
                    // The former owner may find out later.
                    let gained = other.1.gain(Set(Shard.all))
                    owner.0.parts.disown(Set(Shard.all))
                    if case .gained(let epochs) = gained { try await other.0.parts.own(epochs) }
                    (owner, other) = (other, owner)
                }
            }
        }
    }

    @Test func `a login or logout on one counts on the other when that takes over`() async throws {
        try await run { first, second, swap in
            let browser = try await Browser.with("anna", first)
            #expect(try await browser.fetch("/").status == 200)
            let elsewhere = Browser(second, cookies: browser.cookies)
            #expect(try await elsewhere.fetch("/").status == 503)
            #expect(try await elsewhere.open("/login").status == 503)
            try await swap()
            #expect(try await elsewhere.fetch("/").status == 200)
            #expect(try await browser.fetch("/").status == 503)
            #expect(try await browser.post("/login", form: ["name": "ben", "password": "ben"]).status == 503)
            let left = Browser(second, cookies: browser.cookies)
            #expect(try await left.post("/logout", form: [:]).status == 303)
            try await swap()
            #expect(try await browser.fetch("/").status == 401)
        }
    }

    @Test func `one that stands by has ended its streams, and begins new ones when it serves again`() async throws {
        try await run { first, _, swap in
            let browser = try await Browser.with("anna", first)
            let stream = try await browser.fetch("/events")
            try await swap()
            #expect(try await stream.text().hasSuffix("event: end\ndata: {\"reason\":\"restart\"}\n\n"))
            #expect(try await browser.fetch("/events").status == 503)
            try await swap()
            #expect(try await browser.fetch("/events").status == 200)
        }
    }

    @Test func `a press without a reply passes to the other, and its repetition counts there`() async throws {
        try await run { first, second, swap in
            let browser = try await Browser.with("anna", first)
            let (session, id) = (SessionID(UUID()), CommandID(UUID()))
            let press = #"{"id":"\#(id)","type":"end","age":30}"#
            // No broker: it has no reply.
            #expect(try await browser.post("/live/anna/\(session)/commands", json: press).status == 202)
            try await swap()
            let anna = try #require(User("anna"))
            #expect(first.parts.connections.unfinished(of: anna) == [])
            #expect(second.parts.connections.unfinished(of: anna) == ["End"])
            let elsewhere = Browser(second, cookies: browser.cookies)
            #expect(try await elsewhere.post("/live/anna/\(session)/commands", json: press).status == 202)
            #expect(second.parts.connections.unfinished(of: anna) == ["End"])
        }
    }
}
