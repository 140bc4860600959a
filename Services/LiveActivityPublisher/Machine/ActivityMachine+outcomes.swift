import Workouts

extension ActivityMachine {
    /// Takes what came of a push. What nobody waits for any more changes nothing.
    mutating func receive(_ outcome: PushOutcome, for push: Push, now: Timestamp) -> [ActivityAction] {
        let reports = trouble.take(outcome, now).map { ActivityAction.report($0) }
        guard let underway = entries[push.key]?.paces[push.device]?.underway, underway.id == push.id else {
            return reports
        }
        return reports + change(push.key, now) { $0.take(outcome, for: push, underway, now) }
    }
}

extension ActivityMachine.Entry {
    fileprivate mutating func take(
        _ outcome: PushOutcome, for push: Push, _ underway: DevicePace.Underway, _ now: Timestamp
    ) {
        paces[push.device]?.underway = nil
        switch outcome {
        case .delivered:
            record?.reason = nil
            paces[push.device]?.succeed()
        case .tokenGone(let reason):
            record?.reason = Self.brief(reason)
            paces[push.device]?.succeed()
        case .refused(let reason):
            record?.reason = Self.brief(reason)
            paces[push.device]?.refuse(now)
        case .failed(let reason, let retryAfter):
            record?.reason = Self.brief(reason)
            paces[push.device]?.fail(retryAfter: retryAfter, now)
        }
        // It may have withdrawn meanwhile.
        guard var device = record?[push.device], var pace = paces[push.device] else { return }
        switch underway.event {
        case .start: device.endStart(outcome, for: push, &pace, now)
        case .update: device.endUpdate(outcome, for: push, underway, &pace, now)
        case .end:
            let dismissesAt = dismissal(pace.pushedAt ?? now)
            device.endEnd(outcome, for: push, &pace, dismissesAt, now)
        }
        record?[push.device] = device
        paces[push.device] = pace
    }

    /// Reasons are published: what comes from a connection may be long.
    private static func brief(_ reason: String) -> String { String(reason.prefix(200)) }
}

extension DeviceActivity {
    fileprivate mutating func endStart(
        _ outcome: PushOutcome, for push: Push, _ pace: inout DevicePace, _ now: Timestamp
    ) {
        if case .tokenGone = outcome, startToken?.token == push.token { startToken = nil }
        // The app may have told the token of the new activity already.
        guard case .starting(var start) = phase, start.id == push.id else { return }
        switch outcome {
        case .delivered:
            start.isConfirmed = true
            phase = .starting(start)
            pace.freshUntil = start.sentAt + DevicePace.freshness
        // The device may have registered another meanwhile.
        case .tokenGone: phase = .none(startsAt: startToken == nil ? nil : now)
        case .refused: phase = .none(startsAt: start.sentAt + Self.startInterval)
        case .failed: break
        }
    }

    fileprivate mutating func endUpdate(
        _ outcome: PushOutcome, for push: Push, _ underway: DevicePace.Underway, _ pace: inout DevicePace,
        _ now: Timestamp
    ) {
        // It was for another activity, or this one is ending.
        guard updateToken?.token == push.token else { return }
        switch outcome {
        case .delivered:
            toldRevision = underway.revision
            pace.shown = underway.content
            pace.freshUntil = pace.pushedAt.map { $0 + DevicePace.freshness }
        case .tokenGone: lose(now)
        case .refused: pace.shown = underway.content
        case .failed: break
        }
    }

    fileprivate mutating func endEnd(
        _ outcome: PushOutcome, for push: Push, _ pace: inout DevicePace, _ dismissesAt: Timestamp, _ now: Timestamp
    ) {
        guard case .ending(let token, let end) = phase, end.id == push.id else { return }
        switch outcome {
        case .delivered: self.end(token, dismissesAt: dismissesAt, now)
        case .tokenGone: self.end(token, dismissesAt: nil, now)
        // Tried again after as long as it has been due: a dozen times until iOS ends the activity.
        case .refused where end.isRenewal: return pace.refuseRenewal(pause: now.seconds(since: end.since), now)
        case .refused: return pace.refuse(pause: now.seconds(since: end.since), now)
        case .failed: return
        }
        pace.renew(freshUntil: nil)
    }
}
