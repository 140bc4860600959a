import Bus
import Workouts

extension ActivityMachine.Entry {
    /// Draws the consequences of what has changed for each device.
    mutating func follow(_ now: Timestamp, canPush: Bool) {
        guard let session, let record else { return }
        for var device in record.devices {
            let isEnding = paces[device.device]?.underway?.event == .end
            let before = device.phase
            device.follow(isOver: session.isOver, isEnding: isEnding, now)
            if case .ending = before, case .active = device.phase { paces[device.device]?.forgetRefusal() }
            self.record?[device.device] = device
            // Of a deleted session only those are kept who are to be told yet. Who has withdrawn is kept until then too, and
            // while a start may have begun what nobody has told the token of.
            let isDeleted = session.course == .deleted
            let isLeft = canPush && (isDeleted ? device.updateToken != nil : device.id != nil)
            if isDeleted || device.isWithdrawn, !isLeft { self.record?[device.device] = nil }
        }
    }

    /// Whether nothing is left to do of a deleted session.
    var isDone: Bool { session?.course == .deleted && record?.devices.isEmpty ?? true }

    /// Gives the status a revision of its own when it has changed.
    ///
    /// - Returns: whether it is to be published.
    mutating func revise(_ key: SessionKey, _ now: Timestamp, canPush: Bool) -> Bool {
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
        var next = ActivityStatus(
            key: key, revision: record.revision, status: best ?? (isOver ? .dismissed : .pending), devices: devices,
            reason: record.reason)
        guard next != record.status else { return false }
        record.revision = max(record.revision + 1, now.milliseconds)
        record.changedAt = now
        next.revision = record.revision
        record.status = next
        return true
    }

    private func status(of device: DeviceActivity, _ now: Timestamp) -> ActivityStatus.Status {
        let isFresh = (paces[device.device]?.freshUntil).map { $0 > now } ?? false
        switch device.phase {
        case .none: return isOver ? .dismissed : .pending
        case .starting(let start) where !start.isConfirmed: return isOver ? .dismissed : .pending
        case .starting, .active, .ending: return isFresh ? .active : .stale
        case .ended: return .ended
        case .dismissed: return .dismissed
        }
    }
}
