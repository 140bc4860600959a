import Bus
import ServiceKit
import Timing
import Workouts

extension LiveActivityPublisherMachine {
    /// Advances to `now`: marks stale activities, dismisses ends, clears retained topics and refuses registrations
    /// without a session.
    mutating func advance(to now: Moment) -> [ActivityAction] {
        notifications.advance(to: now)
        return looks.take(by: now).flatMap { look(at: $0, now) }
    }

    private mutating func look(at key: SessionKey, _ now: Moment) -> [ActivityAction] {
        guard let entry = entries[key] else { return [] }
        guard let record = entry.record else {
            guard entry.looksAt(now) <= now else {
                store(entry, key, now)
                return []
            }
            forget(key)
            return entry.waiting.map { answer($0, key, now, .sessionNotFound) }
        }
        if entry.session?.isOver ?? true, record.changedAt + RetainedTopic.lifetime <= now {
            forget(key)
            return [.erase(key), .publish(key)]
        }
        return change(key, now) { $0.advance(to: now) }
    }
}

extension LiveActivityPublisherMachine.Entry {
    mutating func advance(to now: Moment) {
        for var device in record?.devices ?? [] {
            let before = device.phase
            device.advance(to: now, isOver: isOver)
            guard device.phase != before else { continue }
            record?[device.device] = device
            throttles[device.device]?.renew(freshUntil: nil)
        }
    }

    /// The next time at which something changes without an event.
    func looksAt(_ now: Moment) -> Moment {
        guard let record else {
            return receivedAt
                + (session == nil ? LiveActivityPublisherMachine.stateTimeout : RetainedTopic.lifetime)
        }
        let retention = record.changedAt + RetainedTopic.lifetime
        // The status of a live session stays retained.
        var time = session?.isOver ?? true ? retention : max(retention, now + RetainedTopic.lifetime)
        for device in record.devices {
            if let deadline = device.deadline(isOver: isOver) { time = min(time, deadline) }
            if let freshUntil = throttles[device.device]?.freshUntil, freshUntil > now { time = min(time, freshUntil) }
        }
        return time
    }
}
