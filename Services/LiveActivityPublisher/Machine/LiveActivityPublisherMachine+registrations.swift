import Bus
import ServiceKit
import Workouts

/// Registrations. Each is answered, and a repeat gets the same reply.
extension LiveActivityPublisherMachine {
    /// The maximum number of buffered registrations per session.
    private static let waitingLimit = 2 * ActivityRecord.deviceLimit

    mutating func receiveRegistration(
        _ registration: ActivityRegistration, of key: SessionKey, now: Moment
    ) -> [ActivityAction] {
        guard var entry = entries[key] ?? stranger(now), entry.session?.course != .deleted else {
            return [answer(registration, key, now, .sessionNotFound)]
        }
        guard entry.session != nil || entry.record != nil else {
            guard !entry.waiting.contains(where: { $0.id == registration.id }) else { return [] }
            guard entry.waiting.count < Self.waitingLimit else {
                return [answer(registration, key, now, .sessionNotFound)]
            }
            entry.waiting.append(registration)
            store(entry, key, now)
            return []
        }
        if entry.record?.hasAnswered(registration.id) == true { return [answer(registration, key, now)] }
        if case .register = registration.action, let record = entry.record,
            record[registration.device]?.isWithdrawn ?? true,
            record.devices.count(where: { !$0.isWithdrawn }) == ActivityRecord.deviceLimit
        {
            let refusal = Refusal.invalidState("a session has at most \(ActivityRecord.deviceLimit) devices")
            return [answer(registration, key, now, refusal)]
        }
        return change(key, now) { $0.applyRegistration(registration, now) } + [answer(registration, key, now)]
    }

    func answer(
        _ registration: ActivityRegistration, _ key: SessionKey, _ now: Moment, _ refusal: Refusal? = nil
    ) -> ActivityAction {
        let reply = Reply(id: registration.id, revision: nil, now: now.wallClock, error: refusal)
        return .reply(.session(key), registration.client, reply)
    }
}

extension LiveActivityPublisherMachine.Entry {
    fileprivate mutating func applyRegistration(_ registration: ActivityRegistration, _ now: Moment) {
        let name = registration.device
        // An unknown device has nothing to withdraw.
        guard record != nil || registration.action != .withdraw else { return }
        var record = record ?? ActivityRecord(changedAt: now)
        record.answer(registration.id)
        defer { self.record = record }
        switch registration.action {
        case .withdraw:
            record[name]?.withdraw(now)
            // Keeps the rate limit of a device that withdraws and returns, up to a bound.
            guard throttles.count > 2 * ActivityRecord.deviceLimit else { return }
            throttles = throttles.filter { record[$0.key] != nil || $0.value.underway != nil }
        case .register(let digits, .activity, let environment):
            var device = record[name] ?? DeviceActivity(device: name)
            let token = PushToken(token: digits, environment: environment)
            if device.receiveUpdateToken(token, now) {
                throttles[name, default: PushThrottle()].renew(freshUntil: now + PushThrottle.freshness)
            }
            record[name] = device
        case .register(let digits, .start, let environment):
            var device = record[name] ?? DeviceActivity(device: name)
            device.receiveStartToken(PushToken(token: digits, environment: environment), now)
            record[name] = device
        }
    }
}

extension LiveActivityPublisherMachine.Entry {
    /// Applies a change to each device.
    mutating func follow(_ now: Moment, canPush: Bool) {
        guard let session, let record else { return }
        for var device in record.devices {
            let isEnding = throttles[device.device]?.underway?.event == .end
            let before = device.phase
            device.follow(isOver: session.isOver, isEnding: isEnding, now)
            if case .ending = before, case .active = device.phase { throttles[device.device]?.clearRefusal() }
            self.record?[device.device] = device
            // A deleted session keeps only devices with a pending end. A withdrawn device is kept until its end, and
            // while a start may have begun an activity with an unknown token.
            let isDeleted = session.course == .deleted
            let isLeft = canPush && (isDeleted ? device.updateToken != nil : device.id != nil)
            if isDeleted || device.isWithdrawn, !isLeft { self.record?[device.device] = nil }
        }
    }

    /// Whether a deleted session has no pending work.
    var isDone: Bool { session?.course == .deleted && record?.devices.isEmpty ?? true }

    /// Gives a changed status a new revision.
    ///
    /// - Returns: whether it must be published.
    mutating func revise(_ key: SessionKey, _ now: Moment, canPush: Bool) -> Bool {
        guard var record else { return false }
        defer { self.record = record }
        guard session?.course != .deleted else {
            defer { record.status = nil }
            return record.status != nil
        }
        let devices = record.devices.filter { !$0.isWithdrawn }.map { device in
            ActivityStatus.DeviceStatus(
                device: device.device, status: canPush ? status(of: device, now) : .pending)
        }
        let order: [ActivityStatus.Status] = [.active, .stale, .pending, .ended, .dismissed]
        let best = order.first { status in devices.contains { $0.status == status } }
        let next = ActivityStatus(
            key: key, revision: record.revision, status: best ?? (isOver ? .dismissed : .pending), devices: devices,
            reason: record.reason)
        guard next != record.status else { return false }
        record.status = next
        record.revise(topic.revise(now.wallClock), now)
        return true
    }

    private func status(of device: DeviceActivity, _ now: Moment) -> ActivityStatus.Status {
        let isFresh = (throttles[device.device]?.freshUntil).map { $0 > now } ?? false
        switch device.phase {
        case .none: return isOver ? .dismissed : .pending
        case .starting(let start) where !start.isConfirmed: return isOver ? .dismissed : .pending
        case .starting, .active, .ending: return isFresh ? .active : .stale
        case .ended: return .ended
        case .dismissed: return .dismissed
        }
    }
}
