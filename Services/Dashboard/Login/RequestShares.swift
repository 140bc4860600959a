import HTTPTypes
import Hummingbird
import ServiceKit
import Synchronization
import Timing

/// Each account's share of the server's work, so that its requests delay no other account's. Streams count only while they
/// begin.
final class RequestShares: Sendable {
    /// Requests of an account in progress. Presses wait up to 3 s for their reply.
    static let limit = 40
    static let burst = 1_000.0
    static let perSecond = 50.0
    /// The bytes of a form that count as a request: a large plan takes as long as many pages.
    static let bytes = 8_192

    private struct Share {
        var bucket = TokenBucket<Moment>(burst: burst, perSecond: perSecond)
        var inProgress = 0
    }

    private let clock: any WallClock
    private let shares = Mutex<[AccountName: Share]>([:])

    init(clock: any WallClock) {
        self.clock = clock
    }

    /// Runs a request of an account.
    ///
    /// - Throws: `HTTPError` if the account has too many.
    func run<Result>(_ account: AccountName, _ body: () async throws -> Result) async throws -> Result {
        try change(account) { share, now in
            guard share.inProgress < Self.limit else { return 1 }
            guard share.bucket.take(now) else { return share.bucket.seconds(until: 1, now) }
            share.inProgress += 1
            return nil
        }
        defer { shares.withLock { $0[account]?.inProgress -= 1 } }
        return try await body()
    }

    /// Counts the work of a form.
    func take(bytes: Int, of account: AccountName) throws(HTTPError) {
        let count = bytes / Self.bytes
        try change(account) { share, now in
            share.bucket.take(now, count: count) ? nil : share.bucket.seconds(until: count, now)
        }
    }

    /// - Parameter body: returns the seconds until the account may try again; `nil` if it may.
    private func change(
        _ account: AccountName, _ body: (inout Share, Moment) -> Double?
    ) throws(HTTPError) {
        let now = clock.moment
        guard let wait = shares.withLock({ body(&$0[account, default: Share()], now) }) else { return }
        throw HTTPError(
            .tooManyRequests, headers: [.retryAfter: "\(Int(max(1, wait).rounded(.up)))"],
            message: "this account has \(Self.limit) requests in progress or sends more than "
                + "\(Int(Self.perSecond)) a second; try again later")
    }
}
