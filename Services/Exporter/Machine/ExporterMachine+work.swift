import Bus
import Workouts

/// What the service itself brings somewhere: to a folder, to an upload.
extension ExporterMachine {
    /// Begins what is due: each session once for all its targets that have room, those first whose user has the least on its
    /// way, then what has been due the longest. The outcome of each destination is to be told to
    /// ``receive(_:for:of:begun:now:)``.
    ///
    /// - Parameter room: how many workouts may go to each target besides those on their way: a slow one must not keep others
    ///   waiting.
    mutating func begin(now: Timestamp, room: [Target: Int]) -> (works: [ExportWork], actions: [ExportAction]) {
        guard room.values.contains(where: { $0 > 0 }), dueAt.map({ RetryPlan.isDue($0, now) }) ?? true else {
            return ([], [])
        }
        var room = room
        var works: [ExportWork] = []
        var actions: [ExportAction] = []
        var queues = dueSessions(now, room)
        var load = Dictionary(grouping: working, by: \.user).mapValues(\.count)
        while room.values.contains(where: { $0 > 0 }) {
            let next = queues.min { left, right in
                (load[left.key, default: 0], left.value[left.value.count - 1])
                    < (load[right.key, default: 0], right.value[right.value.count - 1])
            }
            guard let user = next?.key, let session = queues[user]?.popLast() else { break }
            if queues[user]?.isEmpty == true { queues[user] = nil }
            guard let work = begin(session.key, now, &room, &actions) else { continue }
            load[user, default: 0] += 1
            works.append(work)
        }
        // What was left out for want of room is due as it was.
        if queues.isEmpty { dueAt = waiting.compactMap { entries[$0]?.record.dueAt }.min() ?? now + RetryPlan.patience }
        return (works, actions)
    }

    private struct DueSession: Comparable {
        let time: Timestamp
        let key: SessionKey

        static func < (left: DueSession, right: DueSession) -> Bool { (left.time, left.key) < (right.time, right.key) }
    }

    /// The sessions that are due, by user, the longest due last.
    private func dueSessions(_ now: Timestamp, _ room: [Target: Int]) -> [User: [DueSession]] {
        let due = waiting.compactMap { key -> DueSession? in
            let jobs = (entries[key]?.record.jobs ?? []).filter { $0.isDue(now) && room[$0.target, default: 0] > 0 }
            return jobs.compactMap(\.nextAttemptAt).min().map { DueSession(time: $0, key: key) }
        }
        return Dictionary(grouping: due, by: \.key.user).mapValues { $0.sorted(by: >) }
    }

    private mutating func begin(
        _ key: SessionKey, _ now: Timestamp, _ room: inout [Target: Int], _ actions: inout [ExportAction]
    ) -> ExportWork? {
        guard var entry = entries[key] else { preconditionFailure("only sessions in memory are waiting") }
        let known = entry.record.workout
        var destinations: [ExportWork.Destination] = []
        for var job in entry.record.jobs where job.isDue(now) && room[job.target, default: 0] > 0 {
            room[job.target, default: 0] -= 1
            let idempotencyKey = job.idempotencyKey(of: key)
            job.begin(known)
            let begun = entry.revise(job, now)
            destinations.append(.init(target: job.target, idempotencyKey: idempotencyKey, begun: begun))
            entry.underway[job.target] = begun
        }
        guard !destinations.isEmpty else { return nil }
        store(entry, key)
        actions += [.save(key)] + destinations.map { .publish(key, $0.target) }
        return ExportWork(
            key: key, workout: known.revision, summaries: known.summaries, destinations: destinations)
    }

    /// Whether what comes of a destination is waited for: not when the session is another process's, or was begun anew.
    func awaits(_ begun: Int64, for target: Target, of key: SessionKey) -> Bool {
        entries[key]?.underway[target] == begun
    }

    /// Takes what came of bringing a workout to a target. What nobody waits for any more changes nothing, but of a session
    /// that was deleted meanwhile the files go.
    ///
    /// - Parameter begun: as its destination says.
    mutating func receive(
        _ delivery: Delivery, for target: Target, of key: SessionKey, begun: Int64, now: Timestamp
    ) -> [ExportAction] {
        guard awaits(begun, for: target, of: key), var entry = entries[key], var job = entry.record[target] else {
            guard target == .folder, var files = doomedFiles.removeValue(forKey: key) else { return [] }
            if case .delivered(let written) = delivery { files += written }
            return files.isEmpty ? [] : [.removeFiles(key, Set(files).sorted())]
        }
        job.end(delivery, begun: begun, entry.record.workout, now: now)
        entry.revise(job, now)
        entry.underway[target] = nil
        entry.record.changedAt = now
        store(entry, key)
        return [.save(key), .publish(key, target)] + (job.oldFiles.isEmpty ? [] : [.removeFiles(key, job.oldFiles)])
    }
}

extension ExportJob {
    fileprivate func isDue(_ now: Timestamp) -> Bool {
        guard target != .healthKit, status == .pending, let nextAttemptAt else { return false }
        return RetryPlan.isDue(nextAttemptAt, now)
    }
}

extension ExportRecord {
    /// When the first of what the service itself is to do is due.
    fileprivate var dueAt: Timestamp? {
        jobs.filter { $0.target != .healthKit && $0.status == .pending }.compactMap(\.nextAttemptAt).min()
    }
}

extension ExporterMachine {
    private static let sweepInterval = 1.0

    /// Lets the service's clock pass: devices are asked, and asked again; retained topics are cleared. Looks once a second.
    mutating func advance(to now: Timestamp) -> [ExportAction] {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval || now < $0 }) ?? true else { return [] }
        sweptAt = now
        var actions: [ExportAction] = []
        for (key, entry) in entries {
            if entry.record.isAtRest(now) {
                if var job = entry.record[.healthKit], job.status == .exporting {
                    var entry = entry
                    job.giveUp()
                    entry.revise(job, now)
                    entry.record.changedAt = now
                    store(entry, key)
                    actions += [.save(key), .publish(key, .healthKit)]
                    continue
                }
                forget(key)
                actions += entry.record.jobs.map { .publish(key, $0.target) }
            } else if var job = entry.record[.healthKit], job.isDeviceDue(now) {
                var entry = entry
                job.askDevice(entry.record.workout, now: now)
                entry.revise(job, now)
                store(entry, key)
                actions += [.save(key), .publish(key, .healthKit)]
            }
        }
        return actions
    }
}
