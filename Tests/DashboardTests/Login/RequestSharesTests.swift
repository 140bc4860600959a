import HTTPTypes
import Hummingbird
import ServiceKit
import TestSupport
import Testing

@testable import Dashboard

struct RequestSharesTests {
    private let anna = AccountName("anna")!
    private let ben = AccountName("ben")!

    @Test func `an account has a burst and a rate of requests, and others their own`() async throws {
        let clock = ManualClock()
        let shares = RequestShares(clock: clock)
        for _ in 0..<Int(RequestShares.burst) { try await shares.run(anna) {} }
        let error = await #expect(throws: HTTPError.self) { try await shares.run(anna) {} }
        #expect(error?.status == .tooManyRequests)
        #expect(error?.headers[.retryAfter] == "1")
        try await shares.run(ben) {}
        clock.advance(by: .seconds(1))
        for _ in 0..<50 { try await shares.run(anna) {} }
        await #expect(throws: HTTPError.self) { try await shares.run(anna) {} }
        // A large form counts as many requests.
        try shares.take(bytes: 8_191, of: ben)
        for _ in 0..<15 { try shares.take(bytes: 512 * 1_024, of: ben) }
        let large = #expect(throws: HTTPError.self) { try shares.take(bytes: 512 * 1_024, of: ben) }
        #expect(large?.headers[.retryAfter] == "1")
    }

    @Test func `an account has 40 requests in progress, and each that ends makes room`() async throws {
        let shares = RequestShares(clock: ManualClock())
        func nest(_ count: Int) async throws {
            guard count > 0 else {
                try await shares.run(ben) {}
                return try await shares.run(anna) {}
            }
            try await shares.run(anna) { try await nest(count - 1) }
        }
        try await nest(RequestShares.limit - 1)
        await #expect(throws: HTTPError.self) { try await nest(RequestShares.limit) }
        try await nest(RequestShares.limit - 1)
    }

    @Test func `pages of an account with too many requests get 429, the login page and assets do not`() async throws {
        try await Site.run(clock: ManualClock()) { site in
            let browser = try await Browser.with("anna", site)
            let account = try #require(AccountName("anna"))
            try site.parts.shares.take(bytes: Int(RequestShares.burst) * RequestShares.bytes, of: account)
            #expect(try await browser.open("/").status == 429)
            #expect(try await browser.fetch("/events").status == 429)
            #expect(try await browser.open("/login").status == 303)
            #expect(try await browser.fetch("/assets/x/style.css").status == 404)
            #expect(try await Browser.with("ben", site).open("/").status == 200)
        }
    }
}
