import Bus
import ServiceKit
import Workouts

/// Requests of clients and results of devices. Each gets a reply, and a repetition gets the same reply.
extension ExporterMachine {
    /// Takes a request to export a workout again.
    ///
    /// - Parameter targets: the targets of the user's workouts.
    mutating func answerRequest(
        _ request: SessionRequest, of key: SessionKey, targets: [Target], now: Moment
    ) -> [ExportAction] {
        guard case .export(let wanted) = request.action else { return [] }
        let chosen = (wanted.map { [$0] } ?? targets).map { (target: $0, policy: policy(of: $0)) }
        return answer(request.id, request.client, key, now) { entry throws(Refusal) in
            if let wanted, !targets.contains(wanted) {
                let names = targets.map(\.description).joined(separator: ", ")
                throw .invalidCommand("target: unknown export target '\(wanted)'; configured: \(names)")
            }
            return chosen.filter { entry.request($0.target, $0.policy, isNamed: wanted != nil, now) }.map(\.target)
        }
    }

    /// Takes the result of an export that a device performs.
    mutating func receiveResult(
        _ result: ExportResult, of key: SessionKey, target: Target, now: Moment
    ) -> [ExportAction] {
        answer(result.id, result.client, key, now) { entry throws(Refusal) in
            guard var job = entry.record[target], job.isForDevice else {
                let names = entry.record.jobs.filter(\.isForDevice).map(\.target.description).joined(separator: ", ")
                throw .invalidCommand(
                    "target: the workout has no export to '\(target)' by a device; "
                        + "available: \(names.isEmpty ? "none" : names)")
            }
            let known = entry.record.workout
            guard result.workout <= known.revision else {
                throw .invalidCommand("workout: unknown revision \(result.workout); newest: \(known.revision)")
            }
            guard job.take(result, known, now: now) else { return [] }
            entry.revise(job, now)
            return [target]
        }
    }

    /// Performs a message unless it is a repetition, and replies.
    ///
    /// - Parameter change: changes jobs and returns their targets.
    private mutating func answer(
        _ id: CommandID, _ client: Client?, _ key: SessionKey, _ now: Moment,
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
        return actions + [.reply(key, client, Reply(id: id, revision: nil, now: now.wallClock, error: refusal))]
    }
}

extension ExporterMachine.Entry {
    /// Makes the export to a target due, again if the target has the workout. Returns whether the job changed.
    ///
    /// - Parameter isNamed: whether the request names this target.
    fileprivate mutating func request(
        _ target: Target, _ policy: ExportPolicy, isNamed: Bool, _ now: Moment
    ) -> Bool {
        let known = record.workout
        var job = record[target] ?? ExportJob(target: target, workout: known.revision)
        if policy == .device {
            if job.mode == .watch {
                // The watch saves its own workout. Only a request that names the target overrides that.
                guard isNamed, job.status != .done else { return false }
            }
            job.requestPhone(known, now: now)
        } else if let begun = underway[target] {
            // The delivery in progress may be of an older revision. Then the newer one follows it.
            guard policy == .once, job.workout != known.revision, job.again ?? -1 < begun else { return false }
            job.again = job.revision
        } else {
            job.request(known, policy, now: now)
        }
        revise(job, now)
        return true
    }
}
