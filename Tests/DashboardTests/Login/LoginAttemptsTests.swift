import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct LoginAttemptsTests {
    private let start = Moment(Timestamp(seconds: 1_700_000_000))

    private func attempt(_ account: String? = "anna", from address: String = "192.0.2.1", known: Bool = false)
        -> LoginAttempts.Attempt
    {
        .init(account: account.flatMap { User(account: $0) }, network: ClientNetwork(address), isKnownBrowser: known)
    }

    /// Tries once and fails; returns the wait.
    private func fail(
        _ attempts: inout LoginAttempts, _ attempt: LoginAttempts.Attempt, _ now: Moment
    ) throws -> Double {
        guard case .check(let wait) = attempts.begin(attempt, now) else { throw NotChecked() }
        attempts.finish(attempt, .refused, now + wait)
        return wait
    }

    private struct NotChecked: Error {}

    @Test func `an account's sixth failure waits a second, the next ones twice as long up to 32 s`() throws {
        var attempts = LoginAttempts()
        var now = start
        var waits: [Double] = []
        for index in 0..<13 {
            let wait = try fail(&attempts, attempt(from: "192.0.2.\(index)"), now)
            waits.append(wait)
            now = now + wait
        }
        #expect(waits == [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 32, 32])
        #expect(try fail(&attempts, attempt("ben", from: "192.0.2.99"), now) == 0)
    }

    @Test func `a network's failures slow every account, and its attempts wait one after the other`() throws {
        var attempts = LoginAttempts()
        for index in 0..<20 {
            #expect(try fail(&attempts, attempt("user\(index)", from: "2001:db8::\(index)"), start) == 0)
        }
        #expect(attempts.begin(attempt("x", from: "2001:db8::ff"), start) == .check(after: 1))
        #expect(attempts.begin(attempt("y", from: "2001:db8::fe"), start) == .check(after: 3))
        #expect(attempts.begin(attempt("z", from: "2001:db8:0:1::1"), start) == .check(after: 0))
        var waits: [LoginAttempts.Decision] = []
        for _ in 0..<6 { waits.append(attempts.begin(attempt("w", from: "2001:db8::1"), start)) }
        #expect(waits[..<4] == [.check(after: 7), .check(after: 15), .check(after: 31), .check(after: 63)])
        #expect(waits[4] == .refuse(retryAfter: 95))
    }

    @Test func `guesses from many networks of one 48-bit prefix wait one after the other`() throws {
        var attempts = LoginAttempts()
        func address(_ number: Int) -> String { "2001:db8:0:\(String(number, radix: 16))::1" }
        for index in 0..<LoginAttempts.siteFailures {
            #expect(try fail(&attempts, attempt("user\(index)", from: address(index)), start) == 0)
        }
        var waits: [LoginAttempts.Decision] = []
        for index in 0..<7 { waits.append(attempts.begin(attempt("w\(index)", from: address(1_000 + index)), start)) }
        #expect(waits[..<6] == [1, 3, 7, 15, 31, 63].map { .check(after: $0) }[...])
        #expect(waits[6] == .refuse(retryAfter: 95))
        #expect(attempts.begin(attempt(from: address(2_000), known: true), start) == .check(after: 0))
        #expect(attempts.begin(attempt("ben", from: "2001:db8:1::1"), start) == .check(after: 0))
        // The rate of an attacker who owns all of it.
        var now = start
        var checks = 0
        while now.seconds(since: start) < 900 {
            if case .check(let wait) = attempts.begin(attempt("v\(checks)", from: address(3_000 + checks)), now) {
                attempts.finish(attempt("v\(checks)", from: address(3_000 + checks)), .refused, now + wait)
                checks += 1
            }
            now = now + 1
        }
        #expect(checks < 35)
    }

    @Test func `a browser that logged in before does not wait for the account's failures`() throws {
        var attempts = LoginAttempts()
        for index in 0..<30 { _ = try fail(&attempts, attempt(from: "192.0.2.\(index)"), start) }
        #expect(attempts.begin(attempt(known: true), start) == .check(after: 0))
        #expect(attempts.begin(attempt(from: "198.51.100.1"), start) == .check(after: 32))
    }

    @Test func `a login clears the account's failures and not the network's`() throws {
        var attempts = LoginAttempts()
        for _ in 0..<20 { _ = try fail(&attempts, attempt(), start) }
        let later = start + 700
        guard case .check(let wait) = attempts.begin(attempt(), later) else { throw NotChecked() }
        attempts.finish(attempt(), .accepted, later + wait)
        #expect(attempts.begin(attempt(from: "198.51.100.1"), later + wait) == .check(after: 0))
        #expect(attempts.begin(attempt("ben"), later + wait) != .check(after: 0))
    }

    @Test func `failures count for 15 minutes, and nothing stays in memory`() throws {
        var attempts = LoginAttempts()
        for _ in 0..<5 { _ = try fail(&attempts, attempt(), start) }
        #expect(attempts.count == 2)
        guard case .check(0) = attempts.begin(attempt(), start + 901) else { throw NotChecked() }
        attempts.finish(attempt(), .accepted, start + 901)
        #expect(attempts.count == 0)
    }

    @Test func `parallel attempts gain nothing`() throws {
        var attempts = LoginAttempts()
        var soon = 0
        for index in 0..<200 {
            if case .check(let wait) = attempts.begin(attempt("user\(index)"), start), wait < 64 { soon += 1 }
        }
        #expect(soon == 26)
    }

    @Test func `in any order of attempts the rate of checks and the memory are bounded`() throws {
        var random = SeededRandom()
        for _ in 0..<20 {
            var attempts = LoginAttempts()
            var now = start
            var checks: [(network: ClientNetwork, at: Moment)] = []
            var running: [(attempt: LoginAttempts.Attempt, at: Moment)] = []
            for _ in 0..<2_000 {
                now = now + Double.random(in: 0...2, using: &random)
                for done in running where done.at <= now { attempts.finish(done.attempt, .refused, now) }
                running.removeAll { $0.at <= now }
                let attempt = attempt(
                    "user\(Int.random(in: 0..<8, using: &random))",
                    from: "192.0.2.\(Int.random(in: 0..<3, using: &random))",
                    known: Bool.random(using: &random))
                if case .check(let wait) = attempts.begin(attempt, now) {
                    #expect(wait <= LoginAttempts.longestWait)
                    checks.append((attempt.network, now + wait))
                    running.append((attempt, now + wait))
                }
            }
            #expect(attempts.count <= 11)
            for network in Set(checks.map(\.network)) {
                let times = checks.filter { $0.network == network }.map(\.at).sorted()
                // 20 without a wait, then 1, 2, 4, 8, 16 and every 32 s: in 900 s fewer than 20 + 5 + 29.
                for (index, time) in times.enumerated() {
                    #expect(times[index...].prefix { $0.seconds(since: time) < 900 }.count <= 56)
                }
            }
        }
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `a flood of names stays within the memory's limit`() {
        var attempts = LoginAttempts()
        for index in 0..<(LoginAttempts.tallyLimit + 500) {
            let attempt = attempt("user\(index)", from: "2001:db8:\(String(index, radix: 16))::1")
            _ = attempts.begin(attempt, start)
            attempts.finish(attempt, .refused, start)
        }
        #expect(attempts.count <= 3 * LoginAttempts.tallyLimit)
        #expect(attempts.pending == 0)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("::ffff:192.0.2.1", "192.0.2.1", true),
        ("2001:db8::1", "2001:db8:0:0:ffff::2", true), ("2001:db8::1", "2001:db8:0:1::1", false),
    ])
    func `a network is an IPv4 address or the first half of an IPv6 address`(one: String, other: String, same: Bool) {
        #expect((ClientNetwork(one) == ClientNetwork(other)) == same)
    }
}
