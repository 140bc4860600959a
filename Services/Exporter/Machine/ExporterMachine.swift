import Bus
import ServiceKit
import Workouts

/// Decides where and when finished workouts are exported.
///
/// A value: it reads no clock and performs nothing. Workouts, outcomes, requests, results and time go in; work and actions
/// come out. A session that is not in ``entries`` may be in the store: the loop loads it before it passes on a message
/// about it.
struct ExporterMachine {
    /// The time that an incomplete workout waits for a newer revision, in seconds.
    static let incompleteDelay = 600.0
    /// Notes of workouts that have not arrived yet.
    static let notesLimit = 1_000
    /// Deleted sessions that are remembered.
    static let deletedLimit = 10_000

    struct Entry {
        var record: ExportRecord
        /// For each delivery in progress, the revision of its status at the begin.
        var underway: [Target: Int64] = [:]
        /// `export/{target}` of each job.
        private(set) var topics: [Target: RetainedTopic]

        init(_ record: ExportRecord) {
            self.record = record
            topics = Dictionary(
                uniqueKeysWithValues: record.jobs.map { ($0.target, RetainedTopic(revision: $0.revision)) })
        }

        /// Keeps a changed job, whose status gets a new revision.
        ///
        /// - Returns: the revision.
        @discardableResult
        mutating func revise(_ job: ExportJob, _ now: Moment) -> Int64 {
            let revision = topics[job.target, default: RetainedTopic()].revise(now.wallClock)
            record[job.target] = job
            record[job.target]?.revision = revision
            return revision
        }

        /// Compares a revision received on a job's topic and moves above it if it is newer.
        mutating func see(_ revision: Int64, _ target: Target, _ now: Moment) -> RetainedTopic.Seen {
            guard let seen = topics[target]?.see(revision, now.wallClock) else { return .republish }
            record[target]?.revision = topics[target]?.revision ?? revision
            return seen
        }

        mutating func published(_ revision: Int64, _ target: Target) { topics[target]?.published(revision) }

        mutating func reconnected() {
            for target in topics.keys { topics[target]?.reconnected() }
        }
    }

    private let policies: [Target: ExportPolicy]
    private(set) var entries: [SessionKey: Entry] = [:]
    /// Sessions with work left for the exporter and no delivery in progress.
    private(set) var waiting: Set<SessionKey> = []
    /// Sessions with a delivery in progress.
    private(set) var working: Set<SessionKey> = []
    /// Deliveries in progress by target.
    private(set) var underway: [Target: Int] = [:]
    /// Nothing is due before this time; `nil` if it must be computed.
    var dueAt: Moment?
    /// Late messages about these sessions do not restore them.
    var deleted = RecentSessions(limit: deletedLimit)
    /// Notes of workouts that have not arrived yet.
    private var notes: [SessionKey: ExportRecord.Notes] = [:]
    /// Payloads of workouts that are not on disk yet.
    var payloads: [SessionKey: [UInt8]] = [:]
    /// The time of the last sweep.
    var sweptAt: Moment?

    init(policies: [Target: ExportPolicy] = ExportTargets.policies()) {
        self.policies = policies
    }

    /// A record may contain a target that this version does not have. Its workouts are never sent twice.
    func policy(of target: Target) -> ExportPolicy { policies[target] ?? .once }

    // MARK: Sessions

    /// Takes a session from the store. Interrupted deliveries are due at once.
    mutating func load(_ record: ExportRecord, of key: SessionKey, now: Moment) -> [ExportAction] {
        guard entries[key] == nil, !deleted.contains(key) else { return [] }
        var record = record
        record.limit(to: now)
        var entry = Entry(record)
        var interrupted: [Target] = []
        for var job in record.jobs where job.status == .exporting && !job.isForDevice {
            job.resume(now)
            entry.revise(job, now)
            interrupted.append(job.target)
        }
        store(entry, key)
        return (interrupted.isEmpty ? [] : [.save(key)]) + interrupted.map { .publish(key, $0) }
    }

    /// Takes a workout. The same or an older revision changes nothing.
    ///
    /// - Parameter targets: the targets of the user's workouts.
    mutating func receiveWorkout(_ workout: WorkoutRecord, targets: [Target], now: Moment) -> [ExportAction] {
        let key = SessionKey(workout.user, workout.session)
        guard !deleted.contains(key), workout.revision > entries[key]?.record.workout.revision ?? -1 else { return [] }
        let known = ExportRecord.Workout(workout, now: now)
        var entry = entries[key] ?? Entry(ExportRecord(workout: known, changedAt: now))
        entry.record.workout = known
        if let notes = notes.removeValue(forKey: key) { entry.record.notes = notes }
        entry.record.changedAt = now
        var changed: [Target] = []
        for target in Set(targets + entry.record.jobs.map(\.target)).sorted() where entry.underway[target] == nil {
            var job = entry.record[target] ?? ExportJob(target: target, workout: known.revision)
            guard job.renew(known, policy(of: target)) else { continue }
            entry.revise(job, now)
            changed.append(target)
        }
        store(entry, key)
        return [.saveWorkout(key), .save(key)] + changed.map { .publish(key, $0) }
    }

    /// Takes what the user wrote about a workout. The next revision of the workout brings it to the targets.
    mutating func receiveNotes(_ received: ExportRecord.Notes, of key: SessionKey) -> [ExportAction] {
        guard !deleted.contains(key) else { return [] }
        guard var entry = entries[key] else {
            if notes.count >= Self.notesLimit { notes = [:] }
            notes[key] = received
            return []
        }
        guard received.revision > entry.record.notes?.revision ?? -1 else { return [] }
        entry.record.notes = received
        store(entry, key)
        return [.save(key)]
    }

    /// Deletes a session. Targets may have exports of a session that the store does not contain.
    mutating func delete(_ key: SessionKey) -> [ExportAction] {
        guard deleted.insert(key) else { return [] }
        payloads[key] = nil
        notes[key] = nil
        guard let entry = entries[key] else { return [.remove(key)] }
        evict(key)
        return [.erase(key), .remove(key)] + entry.record.jobs.map { .publish(key, $0.target) }
    }

    // MARK: Entries

    mutating func store(_ entry: Entry, _ key: SessionKey) {
        for target in entries[key]?.underway.keys ?? [:].keys { underway[target, default: 0] -= 1 }
        for target in entry.underway.keys { underway[target, default: 0] += 1 }
        entries[key] = entry
        dueAt = nil
        if entry.underway.isEmpty { working.remove(key) } else { working.insert(key) }
        if entry.underway.isEmpty && entry.record.isOpen { waiting.insert(key) } else { waiting.remove(key) }
    }

    mutating func evict(_ key: SessionKey) {
        for target in entries[key]?.underway.keys ?? [:].keys { underway[target, default: 0] -= 1 }
        entries[key] = nil
        waiting.remove(key)
        working.remove(key)
    }

    /// Notes that the status of a job is published.
    mutating func published(_ revision: Int64, of key: SessionKey, _ target: Target) {
        entries[key]?.published(revision, target)
    }

    /// A new connection brings no echoes of the old one.
    mutating func reconnected() {
        for key in entries.keys { entries[key]?.reconnected() }
    }
}

/// A bounded set of sessions. An insertion beyond the limit evicts the oldest.
struct RecentSessions {
    private let limit: Int
    private var keys: Set<SessionKey> = []
    /// A ring; once it is full, `next` is the index of the oldest.
    private var order: [SessionKey] = []
    private var next = 0

    init(limit: Int) {
        self.limit = limit
    }

    func contains(_ key: SessionKey) -> Bool { keys.contains(key) }

    /// Returns whether the session is new.
    mutating func insert(_ key: SessionKey) -> Bool {
        guard keys.insert(key).inserted else { return false }
        if order.count < limit {
            order.append(key)
        } else {
            keys.remove(order[next])
            order[next] = key
            next = (next + 1) % limit
        }
        return true
    }

    mutating func remove(where isRemoved: (SessionKey) -> Bool) {
        order = (order[next...] + order[..<next]).filter { !isRemoved($0) }
        keys = Set(order)
        next = 0
    }
}
