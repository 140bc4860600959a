import Foundation
import ServiceKit
import Timing
import Workouts

/// The rate limit of pushes to one device; kept in memory only.
struct PushThrottle {
    /// The minimum interval between pushes, in seconds.
    static let interval = 2.0
    /// The time after which pushed content is stale, in seconds.
    static let freshness = 15.0
    /// The keep-alive interval without changes, in seconds; it leaves time for one retry before the stale date.
    static let keepAlive = 10.0
    /// The minimum interval between priority pushes for a new exercise, set or phase, in seconds. APNs has a budget for
    /// priority pushes; quick intervals must leave some of it for a pause or the end.
    static let cueInterval = 60.0
    /// The pause after a refused push, in seconds.
    static let refusalPause = 15.0
    static let backoff = Backoff(minimum: 2, maximum: 60)
    /// The longest pause that APNs may ask for, in seconds.
    static let longestPause = 3_600.0

    enum Event: CaseIterable {
        case start, update, end
    }

    /// A push in flight.
    struct Underway {
        let id: UUID
        let event: Event
        let content: ContentState
        /// The revision of the pushed state.
        let revision: Int64
    }

    var underway: Underway?
    var pushedAt: Moment?
    /// The time of the last priority push.
    private(set) var hurriedAt: Moment?
    /// The last `timestamp` sent, in Unix seconds.
    var timestamp: Int64 = 0
    /// The content that the phone shows, as far as known. Includes refused content, which is not repeated.
    var shown: ContentState?
    /// When the shown content becomes stale.
    var freshUntil: Moment?
    /// Consecutive failures.
    private(set) var failures = 0
    private(set) var retryAt: Moment?
    /// When a renewal with a refused end is retried.
    private(set) var renewsAt: Moment?

    /// The earliest time of the next push; `nil` if immediately.
    var opensAt: Moment? { [pushedAt.map { $0 + Self.interval }, retryAt].compactMap(\.self).max() }

    /// When the next keep-alive is due, counted from the last delivered push, so that a failed one is retried in time;
    /// `nil` before the first.
    var keepAliveAt: Moment? {
        freshUntil.map { $0 + (Self.keepAlive - Self.freshness) } ?? pushedAt.map { $0 + Self.keepAlive }
    }

    /// 10 for changes that should wake the phone, else 5, which has no budget.
    ///
    /// - Parameter isTold: whether the session's state was pushed before.
    func priority(of content: ContentState, isTold: Bool, _ now: Moment) -> Int {
        // After a restart every device gets an update, most without a change.
        guard let shown else { return isTold ? 5 : 10 }
        guard !content.isNews(after: shown) else { return 10 }
        let hasBudget = hurriedAt.map { now.seconds(since: $0) >= Self.cueInterval } ?? true
        return content.isCue(after: shown) && hasBudget ? 10 : 5
    }

    /// Records a sent push.
    ///
    /// - Returns: its `timestamp`, later than all previous ones.
    mutating func push(
        _ id: UUID, _ event: Event, _ content: ContentState, revision: Int64, priority: Int, _ now: Moment
    ) -> Timestamp {
        underway = Underway(id: id, event: event, content: content, revision: revision)
        pushedAt = now
        if priority == 10 { hurriedAt = now }
        timestamp = max(timestamp + 1, Int64(now.wallClock.seconds))
        return Timestamp(microseconds: timestamp * 1_000_000)
    }

    mutating func succeed() {
        failures = 0
        retryAt = nil
    }

    mutating func fail(retryAfter: Double?, _ now: Moment) {
        failures += 1
        retryAt = now + max(Self.backoff.delay(after: failures), min(retryAfter ?? 0, Self.longestPause))
    }

    mutating func refuse(pause: Double = 0, _ now: Moment) {
        failures = 0
        retryAt = now + max(pause, Self.refusalPause)
    }

    /// The end is obsolete, so its refusal delays nothing else.
    mutating func clearRefusal() {
        if failures == 0 { retryAt = nil }
    }

    /// The activity continues while its renewal waits.
    mutating func refuseRenewal(pause: Double, _ now: Moment) {
        succeed()
        renewsAt = now + max(pause, Self.refusalPause)
    }

    /// A new activity: its content is unknown.
    mutating func renew(freshUntil: Moment?) {
        shown = nil
        failures = 0
        retryAt = nil
        renewsAt = nil
        self.freshUntil = freshUntil
    }
}
