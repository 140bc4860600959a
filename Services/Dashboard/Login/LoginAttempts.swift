import ServiceKit
import Workouts

/// Slows down the guessing of passwords: after 5 failures of an account, 20 of a network or 100 of an IPv6 /48 within 15
/// minutes, each attempt waits 1, 2, 4 … 32 s. No account is ever locked.
///
/// Attempts in progress count as failures, so parallel attempts gain nothing. Attempts of a slowed network or /48 wait one
/// after the other; those of an account do not, because a stranger's attempts would then delay its owner without limit.
struct LoginAttempts {
    struct Attempt: Equatable, Sendable {
        /// `nil` if the text is no account's name.
        let account: User?
        let network: ClientNetwork
        /// Whether this browser has logged in to the account before: failures of the account and of the /48, which several
        /// customers may share, do not delay it.
        let isKnownBrowser: Bool

        fileprivate var site: String? { isKnownBrowser ? nil : network.site }
    }

    enum Decision: Equatable {
        /// Check the password after this many seconds, then call ``finish(_:_:_:)``.
        case check(after: Double)
        /// Too many attempts wait. Nothing was counted.
        case refuse(retryAfter: Double)
    }

    static let accountFailures = 5
    static let networkFailures = 20
    static let siteFailures = 100
    static let window = 900.0
    static let longestDelay = 32.0
    /// The longest wait of an attempt behind others of its network.
    static let longestWait = 64.0
    /// A browser that has logged in before is let in beyond it: an account has at most 20 of them.
    static let waitingLimit = 1_000
    /// Accounts, networks and /48s with failures, of each the newest.
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

        /// When an attempt may be checked, after those that wait.
        func start(after limit: Int, _ now: Moment) -> Moment {
            let delay = delay(after: limit, now)
            return delay > 0 ? max(now, latest ?? now) + delay : now
        }

        mutating func begin(at start: Moment) {
            pending += 1
            latest = start
        }

        func isIdle(_ now: Moment) -> Bool {
            pending == 0 && failures.allSatisfy { now.seconds(since: $0) >= window } && (latest ?? now) <= now
        }

        /// - Parameter limit: the failures without a delay; six more reach the longest one.
        mutating func finish(_ answer: PasswordCheck.Answer, keeping limit: Int, _ now: Moment) {
            pending = max(0, pending - 1)
            guard answer == .refused else { return }
            failures.append(now)
            if failures.count > limit + 6 { failures.removeFirst() }
        }
    }

    private var accounts: [User: Tally] = [:]
    private var networks: [ClientNetwork: Tally] = [:]
    private var sites: [String: Tally] = [:]
    /// Attempts in progress.
    private(set) var pending = 0

    /// Accounts, networks and /48s in memory.
    var count: Int { accounts.count + networks.count + sites.count }

    mutating func begin(_ attempt: Attempt, _ now: Moment) -> Decision {
        guard pending < Self.waitingLimit || attempt.isKnownBrowser else {
            return .refuse(retryAfter: Self.longestDelay)
        }
        var start = networks[attempt.network]?.start(after: Self.networkFailures, now) ?? now
        if let site = attempt.site.flatMap({ sites[$0] }) {
            start = max(start, site.start(after: Self.siteFailures, now))
        }
        if !attempt.isKnownBrowser, let account = attempt.account.flatMap({ accounts[$0] }) {
            start = max(start, now + account.delay(after: Self.accountFailures, now))
        }
        let wait = start.seconds(since: now)
        guard wait <= Self.longestWait else { return .refuse(retryAfter: wait) }
        pending += 1
        change(&networks, attempt.network, now) { $0.begin(at: start) }
        if let site = attempt.site { change(&sites, site, now) { $0.begin(at: start) } }
        if let name = attempt.account { change(&accounts, name, now) { $0.pending += 1 } }
        return .check(after: wait)
    }

    /// - Parameter answer: `unavailable` also for a caller that left.
    mutating func finish(_ attempt: Attempt, _ answer: PasswordCheck.Answer, _ now: Moment) {
        pending -= 1
        change(&networks, attempt.network, now) { $0.finish(answer, keeping: Self.networkFailures, now) }
        if let site = attempt.site { change(&sites, site, now) { $0.finish(answer, keeping: Self.siteFailures, now) } }
        guard let name = attempt.account else { return }
        change(&accounts, name, now) { tally in
            tally.finish(answer, keeping: Self.accountFailures, now)
            // A network's failures stay: its owner could otherwise reset them with an account of their own.
            if answer == .accepted { tally.failures = [] }
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
