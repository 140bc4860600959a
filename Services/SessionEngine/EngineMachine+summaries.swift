import Bus
import Workouts

extension EngineMachine {
    /// Takes the totals of the samples; older ones than those known change nothing.
    mutating func receive(_ report: MetricsReport, for key: SessionKey, now: Timestamp) -> [EngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted else { return [] }
        if let known = entry.record.report {
            guard (report.revision, report.state) > (known.revision, known.state) else { return [] }
        }
        entry.record.report = report
        if entry.record.workout != nil, report.revision != entry.record.workout?.summaries["metrics"] {
            entry.reviseBy = now + Self.lateQuiet
        }
        store(entry, key)
        return [.save(key)] + settle(key, now)
    }

    /// Finishes or revises the record when everything announced is there.
    mutating func settle(_ key: SessionKey, _ now: Timestamp) -> [EngineAction] {
        guard let record = entries[key]?.record, record.isCovered else { return [] }
        switch record.session.status {
        case .saving: return finish(key, now)
        case .completed where record.workout.map({ !record.session.holdsAnnounced($0.next) }) ?? true:
            return finish(key, now)
        case .completed where record.workout?.incomplete == true: return finish(key, now)
        case .unfinished, .completed, .canceled, .deleted: return []
        }
    }

    /// Composes the record from what is there.
    mutating func finish(_ key: SessionKey, _ now: Timestamp) -> [EngineAction] {
        guard var entry = entries[key] else { return [] }
        var actions: [EngineAction] = [.save(key)]
        entry.finishBy = nil
        entry.reviseBy = nil
        if entry.record.session.statusName == .saving {
            entry.record.session.complete()
            bump(&entry.record, now)
            actions += [.publishState(key), .publishCurrent(key.user)]
        }
        let revision = max((entry.record.workout?.revision ?? 0) + 1, now.milliseconds)
        entry.record.workout = WorkoutRecord(
            entry.record.session, metrics: entry.record.report, isComplete: entry.record.isCovered, revision: revision)
        store(entry, key)
        return actions + [.publishWorkout(key)]
    }
}
