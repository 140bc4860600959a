import Bus
import Workouts

/// What devices say of themselves. Each is answered, and its repetition alike.
extension ActivityMachine {
    /// Registrations of one session that wait for its `state`.
    private static let waitingLimit = 2 * ActivityRecord.deviceLimit

    mutating func receive(
        _ registration: ActivityRegistration, of key: SessionKey, now: Timestamp
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
        return change(key, now) { $0.take(registration, now) } + [answer(registration, key, now)]
    }

    func answer(
        _ registration: ActivityRegistration, _ key: SessionKey, _ now: Timestamp, _ refusal: Refusal? = nil
    ) -> ActivityAction {
        let reply = Reply(id: registration.id, revision: nil, now: now, error: refusal)
        return .reply(key.user, registration.client, reply)
    }
}

extension ActivityMachine.Entry {
    fileprivate mutating func take(_ registration: ActivityRegistration, _ now: Timestamp) {
        let name = registration.device
        // Who never registered has nothing to withdraw.
        guard record != nil || registration.action != .withdraw else { return }
        var record = record ?? ActivityRecord(changedAt: now)
        record.answer(registration.id)
        defer { self.record = record }
        switch registration.action {
        case .withdraw:
            record[name]?.withdraw(now)
            // Of a device that comes and goes it is still known when it was pushed to; of too many it is not.
            guard paces.count > 2 * ActivityRecord.deviceLimit else { return }
            paces = paces.filter { record[$0.key] != nil || $0.value.underway != nil }
        case .register(let digits, .activity, let environment):
            var device = record[name] ?? DeviceActivity(device: name)
            let token = PushToken(token: digits, environment: environment)
            if device.take(updateToken: token, now) {
                paces[name, default: DevicePace()].renew(freshUntil: now + DevicePace.freshness)
            }
            record[name] = device
        case .register(let digits, .start, let environment):
            var device = record[name] ?? DeviceActivity(device: name)
            device.take(startToken: PushToken(token: digits, environment: environment), now)
            record[name] = device
        }
    }
}
