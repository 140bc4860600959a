import Hummingbird
import ServiceKit
import Synchronization
import Workouts

/// The share of each account, and of each network without a login, in the requests. What exceeds it waits its turn, so that
/// it delays nobody else.
final class RequestShares: Sendable {
    enum Payer: Hashable, Sendable {
        case account(User)
        case network(ClientNetwork)
    }

    static let burst = 500.0
    static let perSecond = 50.0
    static let longestWait = 10.0
    /// Payers in memory: then those that are not waiting are forgotten.
    private static let payerLimit = 10_000

    private let clock: any WallClock
    /// When the requests of each payer are paid for.
    private let paid = Mutex<[Payer: Moment]>([:])

    init(clock: any WallClock) {
        self.clock = clock
    }

    /// Waits for the payer's turn.
    ///
    /// - Throws: `HTTPError` if that takes too long.
    func wait(for payer: Payer) async throws {
        let seconds = paid.withLock { paid in
            let now = clock.moment
            let start = max(paid[payer] ?? now, now)
            let wait = start.seconds(since: now) + 1 / Self.perSecond - Self.burst / Self.perSecond
            if wait <= Self.longestWait { paid[payer] = start + 1 / Self.perSecond }
            if paid.count > Self.payerLimit { paid = paid.filter { $0.value > now } }
            return wait
        }
        guard seconds > 0 else { return }
        guard seconds <= Self.longestWait else {
            throw HTTPError(
                .tooManyRequests, headers: [.retryAfter: "\(Int(seconds.rounded(.up)))"],
                message: "more than \(Int(Self.perSecond)) requests a second; try again later")
        }
        try await clock.wait(for: .seconds(seconds))
    }
}
