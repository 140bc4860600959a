import Bus
import ServiceKit
import Workouts

/// Deliveries that the exporter performs itself, and changes by time.
extension ExporterMachine {
    private static let sweepInterval = 1.0

    /// Begins due exports: each session once for all its targets with room. Users with the fewest deliveries in
    /// progress come first, then sessions that have been due the longest. The loop passes each destination's outcome to
    /// ``recordOutcome(_:for:of:begun:now:)``.
    ///
    /// - Parameter room: the deliveries that may begin for each target, so that a slow target delays no other.
    mutating func begin(now: Moment, room: [Target: Int]) -> (works: [ExportWork], actions: [ExportAction]) {
        guard room.values.contains(where: { $0 > 0 }), dueAt.map({ $0 <= now }) ?? true else {
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
        // Sessions left out for lack of room stay due.
        if queues.isEmpty {
            dueAt = waiting.compactMap { entries[$0]?.record.dueAt }.min() ?? now + RetryPlan.longestRetryAfter
        }
        return (works, actions)
    }

    private struct DueSession: Comparable {
        let time: Moment
        let key: SessionKey

        static func < (left: DueSession, right: DueSession) -> Bool { (left.time, left.key) < (right.time, right.key) }
    }

    /// The due sessions by user; the one that has been due the longest is last.
    private func dueSessions(_ now: Moment, _ room: [Target: Int]) -> [User: [DueSession]] {
        let due = waiting.compactMap { key -> DueSession? in
            let jobs = (entries[key]?.record.jobs ?? []).filter { $0.isDue(now) && $0.hasRoom(room) }
            return jobs.compactMap(\.nextAttemptAt).min().map { DueSession(time: $0, key: key) }
        }
        return Dictionary(grouping: due, by: \.key.user).mapValues { $0.sorted(by: >) }
    }

    private mutating func begin(
        _ key: SessionKey, _ now: Moment, _ room: inout [Target: Int], _ actions: inout [ExportAction]
    ) -> ExportWork? {
        guard var entry = entries[key] else { preconditionFailure("a waiting session is not in memory") }
        let known = entry.record.workout
        var destinations: [ExportWork.Destination] = []
        for var job in entry.record.jobs where job.isDue(now) && job.hasRoom(room) {
            room[job.target]? -= 1
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

    /// Whether an outcome counts. It does not after a hand-over to another process or after a new begin.
    func awaits(_ begun: Int64, for target: Target, of key: SessionKey) -> Bool {
        entries[key]?.underway[target] == begun
    }

    /// Takes the outcome of a delivery. An outcome that no longer counts changes nothing, but the delivery of a deleted
    /// session may have written files after their removal.
    ///
    /// - Parameter begun: see ``ExportWork/Destination/begun``.
    mutating func recordOutcome(
        _ delivery: Delivery, for target: Target, of key: SessionKey, begun: Int64, now: Moment
    ) -> [ExportAction] {
        guard awaits(begun, for: target, of: key), var entry = entries[key], var job = entry.record[target] else {
            return deleted.contains(key) ? [.remove(key)] : []
        }
        job.end(delivery, begun: begun, entry.record.workout, policy(of: target), now: now)
        entry.revise(job, now)
        entry.underway[target] = nil
        entry.record.changedAt = now
        store(entry, key)
        return [.save(key), .publish(key, target)]
    }

    /// Advances to `now`: asks devices and clears expired retained topics. A topic expires only after its export is
    /// `done` or `failed`. Sweeps once a second.
    mutating func advance(to now: Moment) -> [ExportAction] {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval }) ?? true else { return [] }
        sweptAt = now
        var actions: [ExportAction] = []
        for (key, entry) in entries {
            if entry.record.isAtRest(now) {
                evict(key)
                actions += entry.record.jobs.map { .publish(key, $0.target) }
                continue
            }
            let isOld = entry.record.isOld(now)
            let jobs = entry.record.jobs.filter { $0.isDeviceDue(now) || isOld && $0.isForDevice && $0.isOpen }
            guard !jobs.isEmpty else { continue }
            var entry = entry
            for var job in jobs {
                if job.mode == .watch {
                    job.replaceWatch(entry.record.workout, now: now)
                    // The phone has as much time as in phone mode.
                    entry.record.changedAt = now
                } else if isOld {
                    job.giveUp()
                    entry.record.changedAt = now
                } else {
                    job.askDevice(entry.record.workout, now: now)
                }
                entry.revise(job, now)
            }
            store(entry, key)
            actions += [.save(key)] + jobs.map { .publish(key, $0.target) }
        }
        return actions
    }
}

extension ExportJob {
    /// A target that this version does not have always has room: its delivery ends with a refusal.
    fileprivate func hasRoom(_ room: [Target: Int]) -> Bool { room[target, default: 1] > 0 }
}
