import Bus
import Workouts

extension EngineMachine {
    /// All sessions are looked at this often, in seconds, for what takes hours.
    private static let sweepInterval = 1.0

    /// Items of a session came, or so its `metrics` say.
    mutating func hear(_ progress: MetricsProgress, of key: SessionKey, now: Timestamp) -> [EngineAction] {
        guard var entry = entries[key], progress.count > entry.record.itemCount else { return [] }
        let before = entry.record
        entry.heardAt = now
        entry.record.itemCount = progress.count
        entry.record.newest = [entry.record.newest, progress.newest].compactMap(\.self).max()
        entry.record.session.receiveFirstItem()
        if case .canceled(.expired, _) = entry.record.session.status {
            let hasOther = unfinished(key.user) != nil
            entry.record.session.hearAgain(hasOther: hasOther, newest: entry.record.newest)
            if entry.record.session.statusName == .saving { entry.finishBy = now + Self.savingPatience }
        }
        let isOverdue = now.seconds(since: before.lastActiveAt) >= Self.activityInterval
        guard entry.record.session != before.session || entry.record.session.isUnfinished && isOverdue else {
            store(entry, key)
            return []
        }
        entry.record.lastActiveAt = now
        bump(&entry.record, now)
        if entry.record.session.statusName == .saving { entry.record.endRevision = entry.record.revision }
        store(entry, key)
        return [.save(key), .publishState(key), .publishCurrent(key.user)]
    }

    /// Lets the service's clock pass: countdowns end, patience ends, what is old goes.
    mutating func advance(to now: Timestamp) -> [EngineAction] {
        var actions: [EngineAction] = []
        for key in waiting.sorted() {
            guard var entry = entries[key] else { continue }
            if entry.record.session.advance(to: now) {
                bump(&entry.record, now)
                store(entry, key)
                actions += [.save(key), .publishState(key), .publishCurrent(key.user)]
            }
            if let due = [entry.finishBy, entry.reviseBy].compactMap(\.self).min(), due <= now {
                actions += finish(key, now)
            }
        }
        return actions + sweep(now)
    }

    private mutating func sweep(_ now: Timestamp) -> [EngineAction] {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval || now < $0 }) ?? true else { return [] }
        sweptAt = now
        let hasHeard = connectedAt.map { now.seconds(since: $0) >= Self.hearingTime } ?? false
        statusCounts = entries.values.reduce(into: [:]) { $0[$1.record.session.statusName, default: 0] += 1 }
        return entries.keys.sorted().flatMap { age($0, now, hasHeard: hasHeard) }
    }

    private mutating func age(_ key: SessionKey, _ now: Timestamp, hasHeard: Bool) -> [EngineAction] {
        guard var entry = entries[key] else { return [] }
        let age = now.seconds(since: entry.record.revisedAt)
        switch entry.record.session.status {
        case .unfinished where hasHeard && now.seconds(since: entry.heardAt) >= Session.expiry:
            entry.record.session.expire()
            bump(&entry.record, now)
            store(entry, key)
            return [.save(key), .publishState(key), .publishCurrent(key.user)]
        case .canceled where age >= Self.retention: return delete(key, now)
        case .completed where age >= Self.retention && entry.reviseBy == nil: return [.clear(key), .archive(key)]
        case .deleted where age >= Self.deletedRetention: return [.clear(key), .erase(key)]
        case .unfinished, .canceled, .saving, .completed, .deleted: return []
        }
    }

    /// A session and all its data go; that it was deleted is told for a while.
    mutating func delete(_ key: SessionKey, _ now: Timestamp) -> [EngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted else { return [] }
        entry.record.session.delete()
        entry.record.report = nil
        entry.record.newest = nil
        entry.replies = [:]
        entry.finishBy = nil
        entry.reviseBy = nil
        bump(&entry.record, now)
        entry.record.workout = nil
        store(entry, key)
        return [.save(key), .publishState(key), .publishWorkout(key), .publishCurrent(key.user)]
    }
}
