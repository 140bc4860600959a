import Foundation
import ServiceKit

/// Slows down the guessing of passwords: after 5 failures of an account or 20 of a network within 15 minutes, each attempt
/// waits 1, 2, 4 … 32 s. No account is ever locked.
///
/// Attempts in progress count as failures, so parallel attempts gain nothing. Attempts of a slowed network wait one after
/// the other; those of an account do not, because a stranger's attempts would then delay its owner without limit.
struct LoginAttempts {
    struct Attempt: Equatable, Sendable {
        /// `nil` if the text is no account's name.
        let account: AccountName?
        let network: ClientNetwork
        /// Whether this browser has logged in to the account before: the account's failures do not delay it.
        let isKnownBrowser: Bool
    }

    enum Decision: Equatable {
        /// Check the password after this many seconds, then call ``finish(_:_:_:)``.
        case check(after: Double)
        /// Too many attempts wait. Nothing was counted.
        case refuse(retryAfter: Double)
    }

    enum Outcome {
        case right
        case wrong
        /// The broker did not answer, or the caller left.
        case unknown
    }

    static let accountFailures = 5
    static let networkFailures = 20
    static let window = 900.0
    static let longestDelay = 32.0
    /// The longest wait of an attempt behind others of its network.
    static let longestWait = 64.0
    static let waitingLimit = 1_000
    /// Accounts and networks with failures, of each the newest.
    static let tallyLimit = 10_000

    private struct Tally {
        /// The newest failures, the oldest first.
        var failures: [Moment] = []
        /// Attempts in progress.
        var pending = 0
        /// When the last attempt is checked.
        var latest: Moment?

        func delay(after limit: Int, _ now: Moment) -> Double {
            let recent = failures.count { now.seconds(since: $0) < window } + pending
            return recent < limit ? 0 : min(Double(1 << min(recent - limit, 10)), longestDelay)
        }

        func isIdle(_ now: Moment) -> Bool {
            pending == 0 && failures.allSatisfy { now.seconds(since: $0) >= window } && (latest ?? now) <= now
        }

        /// - Parameter limit: the failures without a delay; six more reach the longest one.
        mutating func finish(_ outcome: Outcome, keeping limit: Int, _ now: Moment) {
            pending = max(0, pending - 1)
            guard outcome == .wrong else { return }
            failures.append(now)
            if failures.count > limit + 6 { failures.removeFirst() }
        }
    }

    private var accounts: [AccountName: Tally] = [:]
    private var networks: [ClientNetwork: Tally] = [:]
    /// Attempts in progress.
    private(set) var pending = 0

    /// Accounts and networks in memory.
    var count: Int { accounts.count + networks.count }

    mutating func begin(_ attempt: Attempt, _ now: Moment) -> Decision {
        guard pending < Self.waitingLimit else { return .refuse(retryAfter: Self.longestDelay) }
        let network = networks[attempt.network] ?? Tally()
        let account = attempt.account.map { accounts[$0] ?? Tally() }
        var start = now
        if !attempt.isKnownBrowser, let account { start = now + account.delay(after: Self.accountFailures, now) }
        let delay = network.delay(after: Self.networkFailures, now)
        if delay > 0 { start = max(start, max(now, network.latest ?? now) + delay) }
        let wait = start.seconds(since: now)
        guard wait <= Self.longestWait else { return .refuse(retryAfter: wait) }
        pending += 1
        change(&networks, attempt.network, now) { tally in
            tally.pending += 1
            tally.latest = start
        }
        if let name = attempt.account { change(&accounts, name, now) { $0.pending += 1 } }
        return .check(after: wait)
    }

    mutating func finish(_ attempt: Attempt, _ outcome: Outcome, _ now: Moment) {
        pending -= 1
        change(&networks, attempt.network, now) { $0.finish(outcome, keeping: Self.networkFailures, now) }
        guard let name = attempt.account else { return }
        change(&accounts, name, now) { tally in
            tally.finish(outcome, keeping: Self.accountFailures, now)
            // A network's failures stay: its owner could otherwise reset them with an account of their own.
            if outcome == .right { tally.failures = [] }
        }
    }

    private func change<Key>(
        _ tallies: inout [Key: Tally], _ key: Key, _ now: Moment, _ body: (inout Tally) -> Void
    ) {
        if tallies[key] == nil, tallies.count >= Self.tallyLimit {
            tallies = tallies.filter { !$0.value.isIdle(now) }
            if tallies.count >= Self.tallyLimit {
                let oldest = tallies.filter { $0.value.pending == 0 }
                    .min { ($0.value.failures.last ?? now) < ($1.value.failures.last ?? now) }
                if let oldest { tallies[oldest.key] = nil }
            }
        }
        var tally = tallies[key] ?? Tally()
        body(&tally)
        tallies[key] = tally.isIdle(now) ? nil : tally
    }
}

/// The part of a client's address that counts: an IPv4 address, or the first 64 bits of an IPv6 address.
struct ClientNetwork: Hashable, Sendable, CustomStringConvertible {
    let description: String

    /// - Parameter address: an address without port; any other text counts as a network of its own.
    init(_ address: String) {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, address, &bytes) == 1 else {
            description = String(address.prefix(64))
            return
        }
        let mapped: [UInt8] = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
        description =
            Array(bytes[..<12]) == mapped
            ? bytes[12...].map(String.init).joined(separator: ".")
            : bytes[..<8].map { String($0, radix: 16) }.joined(separator: ".") + "/64"
    }
}
