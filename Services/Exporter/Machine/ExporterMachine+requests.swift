import Bus
import Workouts

/// What people and devices say of exports. Each is answered, and its repetition alike.
extension ExporterMachine {
    /// Takes a request to export a workout again.
    ///
    /// - Parameter targets: where the user has workouts brought to, HealthKit aside.
    mutating func receive(
        _ request: SessionRequest, of key: SessionKey, targets: [Target], now: Timestamp
    ) -> [ExportAction] {
        guard case .export(let wanted) = request.action else { return [] }
        return answer(request.id, request.client, key, now) { entry throws(Refusal) in
            let all = targets + [.healthKit]
            if let wanted, !all.contains(wanted) { throw .invalidCommand("target: none of yours is called \(wanted)") }
            return (wanted.map { [$0] } ?? all).filter { entry.ask($0, isNamed: wanted != nil, now) }
        }
    }

    /// Takes what a device says came of an export that it performs.
    mutating func receive(
        _ result: ExportResult, of key: SessionKey, target: Target, now: Timestamp
    ) -> [ExportAction] {
        answer(result.id, result.client, key, now) { entry throws(Refusal) in
            guard target == .healthKit, var job = entry.record[target] else {
                throw .invalidCommand("target: no device performs this export")
            }
            let known = entry.record.workout
            guard result.workout <= known.revision else { throw .invalidCommand("workout: no such revision is known") }
            guard job.take(result, known, now: now) else { return [] }
            entry.revise(job, now)
            return [target]
        }
    }

    /// Answers a message, doing what it says unless that was done before.
    ///
    /// - Parameter change: returns the targets whose jobs it changed.
    private mutating func answer(
        _ id: CommandID, _ client: Client, _ key: SessionKey, _ now: Timestamp,
        _ change: (inout Entry) throws(Refusal) -> [Target]
    ) -> [ExportAction] {
        var actions: [ExportAction] = []
        var refusal: Refusal?
        do throws(Refusal) {
            guard var entry = entries[key] else { throw .sessionNotFound }
            if !entry.record.hasAnswered(id) {
                let changed = try change(&entry)
                if !changed.isEmpty {
                    entry.record.answer(id)
                    entry.record.changedAt = now
                    store(entry, key)
                    actions = [.save(key)] + changed.map { .publish(key, $0) }
                }
            }
        } catch {
            refusal = error
        }
        return actions + [.reply(key.user, client, Reply(id: id, revision: nil, now: now, error: refusal))]
    }
}

extension ExporterMachine.Entry {
    /// A person wants the workout brought to a target once more, or now.
    ///
    /// - Parameter isNamed: whether this very target was asked for.
    /// - Returns: whether that changed anything.
    fileprivate mutating func ask(_ target: Target, isNamed: Bool, _ now: Timestamp) -> Bool {
        let known = record.workout
        var job = record[target] ?? ExportJob(target: target, workout: known.revision)
        if target == .healthKit {
            if job.mode == .watch {
                // What the watch saves by itself is left to it, unless a person says otherwise.
                guard isNamed, job.status != .done else { return false }
            }
            job.askPhone(known, now: now)
        } else if let begun = underway[target] {
            // It is on its way; of an upload that may be an older revision, and that may have been asked for too.
            guard target != .folder, job.workout != known.revision, job.again ?? -1 < begun else { return false }
            job.again = job.revision
        } else {
            job.ask(known, now: now)
        }
        revise(job, now)
        return true
    }
}
