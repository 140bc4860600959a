import Bus
import Foundation
import ServiceKit
import Timing
import Workouts

/// Scheduling of pushes.
extension LiveActivityPublisherMachine {
    /// Returns the pushes to send now: starts and ends, alerts, updates, each the longest due first. Pass each outcome to
    /// ``recordOutcome(_:for:now:)``.
    ///
    /// - Parameter room: the maximum number of pushes.
    /// - Returns: the pushes, and the actions that must be committed before they are sent.
    mutating func pushes(now: Moment, room: Int) -> (pushes: [Push], actions: [ActivityAction]) {
        var pushes: [Push] = []
        var actions: [ActivityAction] = []
        while pushes.count < room, let key = urgent.takeFirst(by: now) {
            actions += send(key, isUrgent: true, room, &pushes, now)
        }
        pushes += notifications.pushes(now: now, room: room - pushes.count)
        while pushes.count < room, let key = updates.takeFirst(by: now) {
            actions += send(key, isUrgent: false, room, &pushes, now)
        }
        return (pushes, actions)
    }

    /// Rebuilds a push that waited for its commit; `nil` if it is obsolete.
    mutating func remake(_ push: Push, now: Moment) -> Push? {
        guard case .session(let key) = push.owner else {
            return notifications.remake(push, for: push.owner.user, now: now)
        }
        guard var entry = entries[key], let throttle = entry.throttles[push.device],
            throttle.underway?.id == push.id
        else {
            return nil
        }
        if throttle.pushedAt == now { return push }
        entry.throttles[push.device]?.underway = nil
        defer { store(entry, key, now) }
        guard let device = entry.record?[push.device], let due = entry.due(device) else { return nil }
        return entry.push(due.event, device, of: key, now)
    }

    private mutating func send(
        _ key: SessionKey, isUrgent: Bool, _ room: Int, _ pushes: inout [Push], _ now: Moment
    ) -> [ActivityAction] {
        guard var entry = entries[key], let record = entry.record else { return [] }
        for device in record.devices where pushes.count < room {
            guard let due = entry.due(device), due.time <= now, (due.event != .update) == isUrgent else { continue }
            pushes.append(entry.push(due.event, device, of: key, now))
        }
        store(entry, key, now)
        return entry.record == record ? [] : [.save(key)]
    }

    /// Schedules the session's next push and its next change by time.
    mutating func schedule(_ entry: Entry, _ key: SessionKey, _ now: Moment) {
        looks.schedule(key, at: entry.looksAt(now))
        guard canPush, let record = entry.record else { return }
        for device in record.devices {
            guard let due = entry.due(device) else { continue }
            if due.event == .update { updates.schedule(key, at: due.time) } else { urgent.schedule(key, at: due.time) }
        }
    }
}

extension LiveActivityPublisherMachine.Entry {
    /// The interval after which an unconfirmed start is repeated, in seconds.
    private static let startTimeout = 30.0
    /// A session without messages for this long gets no pushes, in seconds: the engine would have canceled it.
    private static let silence = Session.expiry + 900
    /// How long APNs stores a start or an end for an unreachable phone, in seconds.
    private static let startExpiry = 600.0
    private static let endExpiry = DeviceActivity.limit
    /// How long the end is shown, in seconds.
    static let dismissal = 60.0

    private static let past = Moment(wallClock: Timestamp(microseconds: 0), uptime: .zero)

    /// A device's next push and its earliest time.
    func due(_ device: DeviceActivity) -> (event: PushThrottle.Event, time: Moment)? {
        guard let session, let content else { return nil }
        let throttle = throttles[device.device] ?? PushThrottle()
        guard throttle.underway == nil else { return nil }
        let opensAt = [throttle.opensAt, snapshotAwaitedUntil].compactMap(\.self).max() ?? Self.past
        switch device.phase {
        case .none(let startsAt?):
            guard device.startToken != nil, !session.isOver, session.course != .preparing else { return nil }
            return (.start, max(opensAt, startsAt))
        case .starting(let start):
            guard device.startToken != nil, !session.isOver, !start.isConfirmed else { return nil }
            return (.start, max(opensAt, start.sentAt + Self.startTimeout))
        case .active(_, let since):
            let renewsAt = device.startToken == nil ? nil : since + DeviceActivity.renewalAge
            return update(content, throttle, opensAt, renewsAt: renewsAt)
        case .ending(_, let end) where end.isRenewal:
            return update(content, throttle, opensAt, renewsAt: throttle.renewsAt ?? opensAt)
        case .ending: return (.end, opensAt)
        case .none(nil), .ended, .dismissed: return nil
        }
    }

    /// The next update, or an end if the activity must be renewed first.
    private func update(
        _ content: ContentState, _ throttle: PushThrottle, _ opensAt: Moment, renewsAt: Moment?
    ) -> (event: PushThrottle.Event, time: Moment)? {
        let isChanged = throttle.shown.map { !content.showsSame(as: $0) } ?? true
        let time = isChanged ? opensAt : max(opensAt, throttle.keepAliveAt ?? opensAt)
        if let renewsAt, renewsAt <= time { return (.end, max(opensAt, renewsAt)) }
        return time < receivedAt + Self.silence ? (.update, time) : nil
    }

    /// Builds the due push and records it.
    mutating func push(
        _ event: PushThrottle.Event, _ device: DeviceActivity, of key: SessionKey, _ now: Moment
    ) -> Push {
        guard let session, let content else { preconditionFailure("nothing is due of a session without a state") }
        var device = device
        var throttle = throttles[device.device] ?? PushThrottle()
        let staleDate = (now + PushThrottle.freshness).wallClock
        let id: UUID
        let token: PushToken?
        let kind: PushPayload.Event
        var priority = 10
        var expiration = staleDate
        switch event {
        case .start:
            device.start(now)
            token = device.startToken
            id = device.id ?? UUID()
            let alert = PushPayload.Alert(title: session.attributes.workoutName, body: "Workout in progress")
            kind = .start(session.attributes, alert)
            expiration = (now + Self.startExpiry).wallClock
        case .update:
            token = device.updateToken
            id = UUID()
            kind = .update
            priority = throttle.priority(of: content, isTold: session.revision == device.toldRevision, now)
        case .end:
            device.renew(now)
            token = device.updateToken
            id = device.id ?? UUID()
            kind = .end(
                dismissalDate: (device.isRenewed || device.isWithdrawn ? now : dismissal(now)).wallClock)
            expiration = (now + Self.endExpiry).wallClock
        }
        guard let token else { preconditionFailure("nothing is due without a token") }
        let timestamp = throttle.push(id, event, content, revision: session.revision, priority: priority, now)
        let payload = PushPayload(
            event: kind, timestamp: timestamp, state: content, staleDate: event == .end ? nil : staleDate)
        record?[device.device] = device
        throttles[device.device] = throttle
        return Push(
            owner: .session(key), device: device.device, token: token.token, environment: token.environment, id: id,
            priority: priority, expiration: expiration, payload: payload.bytes)
    }

    /// When the session's end leaves the lock screen.
    func dismissal(_ now: Moment) -> Moment { session?.course == .over ? now + Self.dismissal : now }
}

extension LiveActivityPublisherMachine {
    /// Receives a push's outcome. An outcome that is no longer pending changes nothing.
    mutating func recordOutcome(_ outcome: PushOutcome, for push: Push, now: Moment) -> [ActivityAction] {
        let reports = trouble.take(outcome, now).map { ActivityAction.report($0) }
        guard case .session(let key) = push.owner else {
            return reports + notifications.recordOutcome(outcome, for: push, of: push.owner.user, now: now)
        }
        guard let underway = entries[key]?.throttles[push.device]?.underway, underway.id == push.id else {
            return reports
        }
        return reports + change(key, now) { $0.recordOutcome(outcome, for: push, underway, now) }
    }
}

extension LiveActivityPublisherMachine.Entry {
    fileprivate mutating func recordOutcome(
        _ outcome: PushOutcome, for push: Push, _ underway: PushThrottle.Underway, _ now: Moment
    ) {
        throttles[push.device]?.underway = nil
        switch outcome {
        case .delivered:
            record?.reason = nil
            throttles[push.device]?.succeed()
        case .tokenGone(let reason):
            record?.reason = Self.brief(reason)
            throttles[push.device]?.succeed()
        case .refused(let reason):
            record?.reason = Self.brief(reason)
            throttles[push.device]?.refuse(now)
        case .failed(let reason, let retryAfter):
            record?.reason = Self.brief(reason)
            throttles[push.device]?.fail(retryAfter: retryAfter, now)
        }
        // The device may have withdrawn meanwhile.
        guard var device = record?[push.device], var throttle = throttles[push.device] else { return }
        switch underway.event {
        case .start: device.endStart(outcome, for: push, &throttle, now)
        case .update: device.endUpdate(outcome, for: push, underway, &throttle, now)
        case .end:
            let dismissesAt = dismissal(throttle.pushedAt ?? now)
            device.endEnd(outcome, for: push, &throttle, dismissesAt, now)
        }
        record?[push.device] = device
        throttles[push.device] = throttle
    }

    /// Truncates a reason, because it is published.
    private static func brief(_ reason: String) -> String { String(reason.prefix(200)) }
}

extension DeviceActivity {
    fileprivate mutating func endStart(
        _ outcome: PushOutcome, for push: Push, _ throttle: inout PushThrottle, _ now: Moment
    ) {
        if case .tokenGone = outcome, startToken?.token == push.token { startToken = nil }
        // The app may have registered the new activity's token already.
        guard case .starting(var start) = phase, start.id == push.id else { return }
        switch outcome {
        case .delivered:
            start.isConfirmed = true
            phase = .starting(start)
            throttle.freshUntil = start.sentAt + PushThrottle.freshness
        // The device may have registered another meanwhile.
        case .tokenGone: phase = .none(startsAt: startToken == nil ? nil : now)
        case .refused: phase = .none(startsAt: start.sentAt + Self.startInterval)
        case .failed: break
        }
    }

    fileprivate mutating func endUpdate(
        _ outcome: PushOutcome, for push: Push, _ underway: PushThrottle.Underway, _ throttle: inout PushThrottle,
        _ now: Moment
    ) {
        // The outcome belongs to another activity, or this one is ending.
        guard updateToken?.token == push.token else { return }
        switch outcome {
        case .delivered:
            toldRevision = underway.revision
            throttle.shown = underway.content
            throttle.freshUntil = throttle.pushedAt.map { $0 + PushThrottle.freshness }
        case .tokenGone: lose(now)
        case .refused: throttle.shown = underway.content
        case .failed: break
        }
    }

    fileprivate mutating func endEnd(
        _ outcome: PushOutcome, for push: Push, _ throttle: inout PushThrottle, _ dismissesAt: Moment,
        _ now: Moment
    ) {
        guard case .ending(let token, let end) = phase, end.id == push.id else { return }
        switch outcome {
        case .delivered: self.end(token, dismissesAt: dismissesAt, now)
        case .tokenGone: self.end(token, dismissesAt: nil, now)
        // Retries after as long as the end has been due: about a dozen attempts until iOS ends the activity.
        case .refused where end.isRenewal: return throttle.refuseRenewal(pause: now.seconds(since: end.since), now)
        case .refused: return throttle.refuse(pause: now.seconds(since: end.since), now)
        case .failed: return
        }
        throttle.renew(freshUntil: nil)
    }
}
