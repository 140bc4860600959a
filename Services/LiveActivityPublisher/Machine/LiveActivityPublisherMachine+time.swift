import Bus
import ServiceKit
import Timing
import Workouts

extension LiveActivityPublisherMachine {
    /// Advances to `now`: marks stale activities, dismisses ends, clears retained topics and refuses registrations
    /// without a session.
    mutating func advance(to now: Timestamp) -> [ActivityAction] {
        notice(now)
        return looks.take(by: now).flatMap { look(at: $0, now) }
    }

    private mutating func look(at key: SessionKey, _ now: Timestamp) -> [ActivityAction] {
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

    /// Looks whether the clock was set back.
    mutating func notice(_ now: Timestamp) {
        defer { clock = now }
        guard let clock, now < clock - 1 else { return }
        for (key, entry) in entries {
            var entry = entry
            entry.rewind(to: now)
            store(entry, key, now)
        }
    }
}

extension LiveActivityPublisherMachine.Entry {
    mutating func advance(to now: Timestamp) {
        for var device in record?.devices ?? [] {
            let before = device.phase
            device.advance(to: now, isOver: isOver)
            guard device.phase != before else { continue }
            record?[device.device] = device
            throttles[device.device]?.renew(freshUntil: nil)
        }
    }

    /// The clock was set back: what waits for a time waits no longer than it would have.
    mutating func rewind(to now: Timestamp) {
        heardAt = min(heardAt, now)
        snapshotAwaitedUntil = nil
        for device in throttles.keys { throttles[device]?.rewind(to: now) }
        guard var record else { return }
        record.changedAt = min(record.changedAt, now)
        for var device in record.devices {
            device.rewind(to: now)
            record[device.device] = device
        }
        self.record = record
    }

    /// The next time at which something changes without an event.
    func looksAt(_ now: Timestamp) -> Timestamp {
        guard let record else {
            return heardAt
                + (session == nil ? LiveActivityPublisherMachine.patience : RetainedTopic.lifetime)
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
