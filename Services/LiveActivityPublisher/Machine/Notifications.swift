import Bus
import Foundation
import ServiceKit
import Timing
import Workouts

/// The devices that registered for users, and the alerts of virtual runs that they need.
///
/// A part of ``LiveActivityPublisherMachine``. A view decides an alert once: for all devices that are registered at
/// that time, or if there are none, for the next that registers. The alert is stored before its first push. Each
/// device's push has one `apns-id` and is repeated until APNs accepts it, the user has answered or the alert expires.
struct Notifications {
    /// The maximum number of runs of a user whose newest view is remembered.
    static let viewLimit = 500
    /// How long the views of a user who registered for the first time are subscribed to again, in seconds.
    static let greeting = 30.0
    /// The shortest pause after a refused push, in seconds.
    static let refusalPause = 60.0

    struct Entry {
        var record: NotificationRecord
        /// The newest view of each run. After a restart, alerts wait for it: the user may have answered meanwhile.
        var views: [RunID: View] = [:]
        /// The attempts of pushes, by `apns-id`.
        var attempts: [UUID: Attempt] = [:]
        var limit = TokenBucket<Moment>(burst: 30, perSecond: 1)
    }

    struct View {
        let revision: Int64
        let alert: RunAlert?
    }

    /// The attempts of one push.
    struct Attempt {
        let since: Moment
        var isUnderway = true
        var failures = 0
        var retryAt: Moment?
    }

    /// What the service reads of a user's profile.
    struct UserFacts: Decodable {
        var units: Units?
        var erasedAt: Timestamp?
    }

    let canPush: Bool
    private(set) var entries: [User: Entry] = [:]
    /// The users who read miles.
    private var imperial: Set<User> = []
    private var due = Deadlines<User, Moment>()
    /// The users who registered for the first time, and until when the broker must send their retained views again.
    private var newcomers: [User: Moment] = [:]
    /// Whether ``newUsers`` are others than when this was last cleared.
    var haveNewUsersChanged = false

    init(canPush: Bool) {
        self.canPush = canPush
    }

    var deviceCount: Int { entries.values.reduce(0) { $0 + $1.record.devices.count } }

    mutating func load(_ record: NotificationRecord, of user: User, now: Moment) {
        guard entries[user] == nil else { return }
        var record = record
        record.limit(to: now)
        entries[user] = Entry(record: record)
    }

    mutating func drop(_ shards: Set<Shard>) {
        for user in entries.keys where shards.contains(user.shard) { forget(user) }
        imperial = imperial.filter { !shards.contains($0.shard) }
    }

    private mutating func forget(_ user: User) {
        entries[user] = nil
        if newcomers.removeValue(forKey: user) != nil { haveNewUsersChanged = true }
        due.remove(user)
    }

    // MARK: Input

    mutating func receiveRegistration(
        _ registration: NotificationRegistration, of user: User, now: Moment
    ) -> [ActivityAction] {
        func answer(_ refusal: Refusal? = nil) -> ActivityAction {
            .reply(
                .user(user), registration.client,
                Reply(id: registration.id, revision: nil, now: now.wallClock, error: refusal))
        }
        // An unknown user has nothing to withdraw.
        guard entries[user] != nil || registration.action != .withdraw else { return [answer()] }
        let isNew = entries[user] == nil
        var entry = entries[user] ?? Entry(record: NotificationRecord())
        let isAllowed = entry.limit.take(now)
        entries[user] = entry
        guard isAllowed else { return [answer(.tooManyRegistrations)] }
        guard !entry.record.hasAnswered(registration.id) else { return [answer()] }
        var record = entry.record
        record.take(registration, now)
        guard record.devices.count <= NotificationRecord.deviceLimit else {
            return [answer(.invalidState("a user has at most \(NotificationRecord.deviceLimit) devices"))]
        }
        if isNew {
            newcomers[user] = now + Self.greeting
            haveNewUsersChanged = true
        }
        return change(user, now) { entry in
            let isFirst = entry.record.devices.isEmpty
            entry.record = record
            guard isFirst else { return }
            for (run, view) in entry.views { _ = entry.record.follow(run, view.alert, now) }
        } + [answer()]
    }

    /// The users whose retained views are missing: they were sent before the first registration.
    var newUsers: Dictionary<User, Moment>.Keys { newcomers.keys }

    /// Ends the subscriptions of ``newUsers``.
    mutating func advance(to now: Moment) {
        for (user, end) in newcomers where end <= now {
            newcomers[user] = nil
            haveNewUsersChanged = true
        }
    }

    /// Whether a device of the user has registered. Without one now, views still report what the user has answered.
    func wantsViews(of user: User) -> Bool { entries[user] != nil }

    /// Receives a user's view of a run; an older one changes nothing.
    mutating func receiveView(_ view: VirtualRunView, now: Moment) -> [ActivityAction] {
        guard let known = entries[view.user], view.revision > known.views[view.run]?.revision ?? -1 else { return [] }
        let alert = RunAlert(view)
        var isDropped = false
        let actions = change(view.user, now) { entry in
            if entry.views[view.run] == nil, entry.views.count >= Self.viewLimit,
                let oldest = entry.views.min(by: { $0.value.revision < $1.value.revision })
            {
                entry.views[oldest.key] = nil
            }
            entry.views[view.run] = View(revision: view.revision, alert: alert)
            isDropped = !entry.record.follow(view.run, alert, now)
        }
        return actions + (isDropped ? [.dropAlert(view.user)] : [])
    }

    /// The user's view of a run was cleared.
    mutating func forgetView(of user: User, in run: RunID, now: Moment) -> [ActivityAction] {
        guard entries[user] != nil else { return [] }
        return change(user, now) { entry in
            entry.views[run] = nil
            _ = entry.record.follow(run, nil, now)
        }
    }

    /// Receives a user's profile: a deletion of everything removes the tokens from before.
    mutating func receiveProfile(_ facts: UserFacts, of user: User, now: Moment) -> [ActivityAction] {
        if facts.units == .imperial { imperial.insert(user) } else { imperial.remove(user) }
        guard let erasedAt = facts.erasedAt, let entry = entries[user] else { return [] }
        var record = entry.record
        record.erase(before: erasedAt)
        guard record.devices.isEmpty else { return change(user, now) { $0.record = record } }
        forget(user)
        return [.saveNotifications(user)]
    }

    private mutating func change(_ user: User, _ now: Moment, _ body: (inout Entry) -> Void) -> [ActivityAction] {
        guard var entry = entries[user] else { return [] }
        let before = entries[user]?.record
        body(&entry)
        let pending = Set(entry.record.alerts.flatMap(\.pending.values))
        entry.attempts = entry.attempts.filter { pending.contains($0.key) }
        entries[user] = entry
        schedule(user)
        return entry.record == before ? [] : [.saveNotifications(user)]
    }

    // MARK: Pushes

    private mutating func schedule(_ user: User) {
        guard canPush, let entry = entries[user] else { return }
        if let time = entry.waiting.map(\.time).min() { due.schedule(user, at: time) }
    }

    /// The alerts to push now, at most `room`. They are sent after the next commit: see ``remake(_:for:now:)``.
    mutating func pushes(now: Moment, room: Int) -> [Push] {
        var pushes: [Push] = []
        while pushes.count < room, let user = due.takeFirst(by: now) {
            for waiting in entries[user]?.waiting ?? [] where pushes.count < room && waiting.time <= now {
                if let push = push(waiting.id, for: user, now) { pushes.append(push) }
            }
            schedule(user)
        }
        return pushes
    }

    /// Rebuilds a push that waited for a commit; `nil` if it is obsolete.
    mutating func remake(_ push: Push, for user: User, now: Moment) -> Push? {
        guard entries[user]?.attempts[push.id]?.isUnderway == true else { return nil }
        return self.push(push.id, for: user, now)
    }

    /// The kind of a push under way.
    func kind(of push: Push, for user: User) -> RunAlert.Kind? { entries[user]?.record.pending(push.id)?.alert.kind }

    /// Builds the push with this `apns-id` and records it; `nil` once it has expired.
    private mutating func push(_ id: UUID, for user: User, _ now: Moment) -> Push? {
        guard let entry = entries[user], let (alert, device) = entry.record.pending(id), now < alert.expiresAt,
            let wanted = entry.views[alert.run]?.alert
        else {
            // The next save has it too.
            entries[user]?.record.settle(id)
            entries[user]?.attempts[id] = nil
            return nil
        }
        var attempt = entry.attempts[id] ?? Attempt(since: now)
        attempt.isUnderway = true
        entries[user]?.attempts[id] = attempt
        let payload = AlertPayload(
            title: wanted.title, body: wanted.body(imperial.contains(user) ? .imperial : .metric, now: now.wallClock),
            run: alert.run, kind: alert.kind)
        return Push(
            owner: .user(user), device: device.device, token: device.token.token, environment: device.token.environment,
            id: id, priority: 10, expiration: alert.expiresAt.wallClock, collapseID: "\(alert.run)",
            payload: payload.bytes)
    }

    /// Receives a push's outcome. That of a push that is no longer pending only reports an expired token.
    mutating func recordOutcome(
        _ outcome: PushOutcome, for push: Push, of user: User, now: Moment
    ) -> [ActivityAction] {
        change(user, now) { entry in
            // The device may have registered another token meanwhile.
            if case .tokenGone = outcome, entry.record[push.device]?.token.token == push.token {
                entry.record.remove(push.device)
            }
            // Also without an attempt: the shard may have been lost and gained meanwhile.
            if outcome == .delivered { entry.record.settle(push.id) }
            guard var attempt = entry.attempts[push.id] else { return }
            attempt.isUnderway = false
            switch outcome {
            case .delivered: break
            case .tokenGone: attempt.retryAt = nil
            // The pauses double.
            case .refused: attempt.retryAt = now + max(Self.refusalPause, now.seconds(since: attempt.since))
            case .failed(_, let retryAfter):
                attempt.failures += 1
                attempt.retryAt =
                    now
                    + max(
                        PushThrottle.backoff.delay(after: attempt.failures),
                        min(retryAfter ?? 0, PushThrottle.longestPause))
            }
            entry.attempts[push.id] = attempt
        }
    }
}

extension Notifications.Entry {
    private static let past = Moment(wallClock: Timestamp(microseconds: 0), uptime: .zero)

    /// The pending pushes that are not under way, in order, and their earliest time.
    fileprivate var waiting: [(id: UUID, time: Moment)] {
        record.alerts.flatMap { alert -> [(id: UUID, time: Moment)] in
            guard views[alert.run]?.alert?.kind == alert.kind else { return [] }
            return alert.pending.sorted { $0.key < $1.key }.compactMap { _, id in
                let attempt = attempts[id]
                let time = attempt?.retryAt ?? Self.past
                return attempt?.isUnderway == true || alert.expiresAt <= time ? nil : (id, time)
            }
        }
    }
}

extension Refusal {
    static let tooManyRegistrations = Refusal(
        code: "too_many_requests",
        message: "too many registrations (limit: 1 per second, bursts of 30); try again later", retryAfter: 5)
}
