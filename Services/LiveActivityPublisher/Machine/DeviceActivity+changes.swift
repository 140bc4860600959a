import Foundation
import ServiceKit
import Workouts

/// Transitions of a device's activity.
extension DeviceActivity {
    /// The minimum interval between starts of a lost activity, in seconds.
    static let startInterval = 60.0
    /// iOS' limit for an activity's age, in seconds.
    static let limit = 8 * 3_600.0
    /// The age at which an activity is replaced, in seconds.
    static let renewalAge = limit - 900

    /// Takes an update token: the app began an activity, received the one started by push, or its token changed.
    ///
    /// - Returns: whether anything changed.
    mutating func receiveUpdateToken(_ token: PushToken, _ now: Moment) -> Bool {
        withdrawnAt = nil
        guard token.token != endedToken else { return false }
        switch phase {
        case .none, .ended, .dismissed: phase = .active(token, since: now)
        case .starting(let start): phase = .active(token, since: start.sentAt)
        case .active(let known, let since):
            guard known != token else { return false }
            // iOS does not renew tokens of an activity this old, so this is another activity.
            let isNew = known.token != token.token && now.seconds(since: since) >= Self.renewalAge
            phase = .active(token, since: isNew ? now : since)
        case .ending(let known, let end):
            guard known != token else { return false }
            phase = .active(token, since: end.isRenewal ? now : end.began)
        }
        toldRevision = nil
        return true
    }

    mutating func receiveStartToken(_ token: PushToken, _ now: Moment) {
        withdrawnAt = nil
        startToken = token
        guard case .none(nil) = phase else { return }
        phase = .none(startsAt: startedAt.map { max(now, $0 + Self.startInterval) } ?? now)
    }

    /// Withdraws the device: its activity ends.
    mutating func withdraw(_ now: Moment) {
        withdrawnAt = now
        startToken = nil
    }

    /// Follows the session and the device's registration.
    ///
    /// - Parameter isEnding: whether an end is in flight.
    mutating func follow(isOver: Bool, isEnding: Bool, _ now: Moment) {
        let isOver = isOver || isWithdrawn
        switch phase {
        case .active(let token, let since) where isOver:
            phase = .ending(token, End(id: UUID(), since: now, began: since))
        case .ending(let token, var end) where isOver && end.isRenewal:
            end.isRenewal = false
            phase = .ending(token, end)
        case .ending(let token, let end) where !isOver && !end.isRenewal && !isEnding:
            phase = .active(token, since: end.began)
        case .ended where !isOver, .dismissed where !isOver: phase = .none(startsAt: now)
        case .none, .starting, .active, .ending, .ended, .dismissed: break
        }
    }

    /// A start is sent, or repeated.
    mutating func start(_ now: Moment) {
        var start = Start(id: UUID(), sentAt: now)
        if case .starting(let before) = phase {
            start = before
            start.sentAt = now
        }
        phase = .starting(start)
        startedAt = now
    }

    /// The activity nears iOS' limit and is to be replaced.
    mutating func renew(_ now: Moment) {
        guard case .active(let token, let since) = phase else { return }
        phase = .ending(token, End(id: UUID(), since: now, began: since, isRenewal: true))
    }

    /// The activity is gone, or its token has expired.
    mutating func lose(_ now: Moment) {
        let isStartable = startToken != nil && startedAt.map { now.seconds(since: $0) > Self.startInterval } ?? true
        phase = .none(startsAt: isStartable ? now : nil)
    }

    /// The end was delivered, or cannot be.
    ///
    /// - Parameter dismissesAt: when the activity leaves the lock screen; `nil` if none is shown.
    mutating func end(_ token: PushToken, dismissesAt: Moment?, _ now: Moment) {
        endedToken = token.token
        if isRenewed {
            phase = .none(startsAt: now)
        } else if let dismissesAt, dismissesAt > now {
            phase = .ended(dismissesAt: dismissesAt)
        } else {
            phase = .dismissed
        }
    }

    /// Advances to `now`.
    mutating func advance(to now: Moment, isOver: Bool) {
        switch phase {
        case .ended(let dismissesAt) where dismissesAt <= now: phase = .dismissed
        case .ending(let token, let end) where Self.givesUp(end) <= now:
            self.end(token, dismissesAt: nil, now)
        case .starting(let start) where (isOver || isWithdrawn) && start.sentAt + Self.limit <= now:
            phase = .dismissed
        case .none, .starting, .active, .ending, .ended, .dismissed: break
        }
    }

    /// The next time at which something changes without an event.
    func deadline(isOver: Bool) -> Moment? {
        switch phase {
        case .ended(let dismissesAt): dismissesAt
        case .ending(_, let end): Self.givesUp(end)
        case .starting(let start): isOver || isWithdrawn ? start.sentAt + Self.limit : nil
        case .none, .active, .dismissed: nil
        }
    }

    /// The time at which iOS ends the activity.
    private static func givesUp(_ end: End) -> Moment {
        end.isRenewal ? end.began + limit : end.since + limit
    }

    /// Limits moments that were stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        withdrawnAt = withdrawnAt?.atMost(now)
        switch phase {
        case .none(let startsAt): phase = .none(startsAt: startsAt?.atMost(now + Self.startInterval))
        case .starting(var start):
            start.sentAt = start.sentAt.atMost(now)
            phase = .starting(start)
        case .active(let token, let since): phase = .active(token, since: since.atMost(now))
        case .ending(let token, var end):
            end.since = end.since.atMost(now)
            end.began = end.began.atMost(now)
            phase = .ending(token, end)
        case .ended(let dismissesAt):
            phase = .ended(dismissesAt: dismissesAt.atMost(now + LiveActivityPublisherMachine.Entry.dismissal))
        case .dismissed: break
        }
        startedAt = startedAt?.atMost(now)
    }
}
