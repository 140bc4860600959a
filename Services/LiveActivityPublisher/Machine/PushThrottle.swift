import Foundation
import Timing
import Workouts

/// When something was pushed to a device and when it may be again: known in memory alone.
struct PushThrottle {
    /// No two pushes follow each other faster, in seconds.
    static let interval = 2.0
    /// What was pushed is out of date after so many seconds.
    static let freshness = 15.0
    /// Without a change there is a push so often, in seconds: early enough for a second try before the stale date.
    static let keepAlive = 10.0
    /// Another exercise, set or phase of a plan has priority when nothing else had it for so many seconds: APNs has a budget
    /// for it, and quick intervals would use it up and leave none for a pause or the end.
    static let cueInterval = 60.0
    /// After a push that APNs does not want, in seconds.
    static let refusalPause = 15.0
    static let backoff = Backoff(minimum: 2, maximum: 60)
    /// The longest pause that APNs may ask for, in seconds.
    static let longestPause = 3_600.0

    enum Event {
        case start, update, end
    }

    /// A push whose outcome is awaited.
    struct Underway {
        let id: UUID
        let event: Event
        let content: ContentState
        /// Of the state that it tells of.
        let revision: Int64
    }

    var underway: Underway?
    var pushedAt: Timestamp?
    /// When a push had priority last.
    private(set) var hurriedAt: Timestamp?
    /// The latest `timestamp` that a phone was told, in Unix seconds.
    var timestamp: Int64 = 0
    /// What the phone shows, as far as is known; of what was refused too, for that is not sent again.
    var shown: ContentState?
    /// Until when what is shown is up to date.
    var freshUntil: Timestamp?
    /// Failures in a row.
    private(set) var failures = 0
    private(set) var retryAt: Timestamp?
    /// When a renewal whose end was refused is tried again.
    private(set) var renewsAt: Timestamp?

    /// When the next push may be sent at the earliest; `nil` when nothing keeps it.
    var opensAt: Timestamp? { [pushedAt.map { $0 + Self.interval }, retryAt].compactMap(\.self).max() }

    /// When there is to be a push though nothing has changed: counted from the last that was taken, so that one that was not
    /// is tried again in time. `nil` when there was none.
    var keepAliveAt: Timestamp? {
        freshUntil.map { $0 + (Self.keepAlive - Self.freshness) } ?? pushedAt.map { $0 + Self.keepAlive }
    }

    /// 10 for what is not to wait until the phone is awake anyway, else 5, which has no budget.
    ///
    /// - Parameter isTold: whether the phone was told of the session's state before.
    func priority(of content: ContentState, isTold: Bool, _ now: Timestamp) -> Int {
        // After a restart all are told again, and nothing has changed for most.
        guard let shown else { return isTold ? 5 : 10 }
        guard !content.isNews(after: shown) else { return 10 }
        let hasBudget = hurriedAt.map { now.seconds(since: $0) >= Self.cueInterval } ?? true
        return content.isCue(after: shown) && hasBudget ? 10 : 5
    }

    /// Takes note that a push is sent.
    ///
    /// - Returns: its `timestamp`, later than all before.
    mutating func push(
        _ id: UUID, _ event: Event, _ content: ContentState, revision: Int64, priority: Int, _ now: Timestamp
    ) -> Timestamp {
        underway = Underway(id: id, event: event, content: content, revision: revision)
        pushedAt = now
        if priority == 10 { hurriedAt = now }
        timestamp = max(timestamp + 1, Int64(now.seconds))
        return Timestamp(microseconds: timestamp * 1_000_000)
    }

    mutating func succeed() {
        failures = 0
        retryAt = nil
    }

    mutating func fail(retryAfter: Double?, _ now: Timestamp) {
        failures += 1
        retryAt = now + max(Self.backoff.delay(after: failures), min(retryAfter ?? 0, Self.longestPause))
    }

    mutating func refuse(pause: Double = 0, _ now: Timestamp) {
        failures = 0
        retryAt = now + max(pause, Self.refusalPause)
    }

    /// The end is not wanted any more: that it was refused keeps nothing else waiting.
    mutating func forgetRefusal() {
        if failures == 0 { retryAt = nil }
    }

    /// The activity goes on while its renewal waits.
    mutating func refuseRenewal(pause: Double, _ now: Timestamp) {
        succeed()
        renewsAt = now + max(pause, Self.refusalPause)
    }

    /// There is another activity: nothing is known of what it shows.
    mutating func renew(freshUntil: Timestamp?) {
        shown = nil
        failures = 0
        retryAt = nil
        renewsAt = nil
        self.freshUntil = freshUntil
    }

    /// The clock was set back.
    mutating func rewind(to now: Timestamp) {
        pushedAt = pushedAt.map { min($0, now) }
        hurriedAt = hurriedAt.map { min($0, now) }
        retryAt = retryAt.map { min($0, now) }
        renewsAt = renewsAt.map { min($0, now) }
        freshUntil = freshUntil.map { min($0, now + Self.freshness) }
    }
}
