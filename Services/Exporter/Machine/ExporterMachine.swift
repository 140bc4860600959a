import Bus
import Workouts

/// The finished workouts, where they are to be brought, and how far that has come.
///
/// A value: it reads no clock and performs nothing. Workouts, outcomes, requests, results and time go in, work and actions
/// come out. A session that is not in ``entries`` may be in the store: whoever hears of it (its workout, a request, a result,
/// its deletion) loads it first.
struct ExporterMachine {
    /// Retained topics are cleared this long after the session's last change, in seconds; then it leaves memory.
    static let retention = 48 * 3_600.0
    /// An incomplete workout is exported when nothing newer came for so long, in seconds.
    static let patience = 600.0
    /// Deleted sessions that are remembered.
    static let deletedLimit = 10_000

    struct Entry {
        var record: ExportRecord
        /// Of what is on its way to each target, the revision of its status when it was begun.
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
        mutating func revise(_ job: ExportJob, _ now: Timestamp) -> Int64 {
            let revision = topics[job.target, default: RetainedTopic()].revise(now)
            record[job.target] = job
            record[job.target]?.revision = revision
            return revision
        }

        /// Compares a revision received on a job's topic and moves above it if it is newer.
        mutating func see(_ revision: Int64, _ target: Target, _ now: Timestamp) -> RetainedTopic.Seen {
            guard let seen = topics[target]?.see(revision, now) else { return .republish }
            record[target]?.revision = topics[target]?.revision ?? revision
            return seen
        }

        mutating func published(_ revision: Int64, _ target: Target) { topics[target]?.published(revision) }

        mutating func reconnected() {
            for target in topics.keys { topics[target]?.reconnected() }
        }
    }

    private(set) var entries: [SessionKey: Entry] = [:]
    /// Sessions with something left for the service to do and nothing on its way.
    private(set) var waiting: Set<SessionKey> = []
    /// Sessions with something on its way.
    private(set) var working: Set<SessionKey> = []
    /// How many workouts are on their way to each target.
    private(set) var underway: [Target: Int] = [:]
    /// Not before then is anything due; `nil` when that is to be looked up.
    var dueAt: Timestamp?
    /// What comes late of a deleted session does not bring it back.
    private(set) var deleted = RecentSessions(limit: deletedLimit)
    /// What may be written yet of deleted sessions that were on their way to the folder.
    var doomedFiles: [SessionKey: [String]] = [:]
    /// When time was looked at last.
    var sweptAt: Timestamp?

    // MARK: Sessions

    /// Takes over a session from the store. What was on its way when the process ended is due at once.
    mutating func load(_ record: ExportRecord, of key: SessionKey, now: Timestamp) -> [ExportAction] {
        guard entries[key] == nil, !deleted.contains(key) else { return [] }
        var entry = Entry(record)
        var interrupted: [Target] = []
        for var job in record.jobs where job.status == .exporting && job.target != .healthKit {
            job.resume(now)
            entry.revise(job, now)
            interrupted.append(job.target)
        }
        store(entry, key)
        let files = record.jobs.flatMap(\.oldFiles)
        return (interrupted.isEmpty ? [] : [.save(key)]) + interrupted.map { .publish(key, $0) }
            + (files.isEmpty ? [] : [.removeFiles(key, files)])
    }

    /// Forgets sessions that are another process's now.
    mutating func drop(where isLost: (SessionKey) -> Bool) {
        for key in entries.keys.filter(isLost) { forget(key) }
        for key in doomedFiles.keys.filter(isLost) { doomedFiles[key] = nil }
    }

    /// Takes a workout; the same or an older revision changes nothing.
    ///
    /// - Parameters:
    ///   - targets: where the user has workouts brought to, HealthKit aside.
    ///   - files: what will hold it in the folder, if that is one of them.
    mutating func receive(
        _ workout: WorkoutRecord, targets: [Target], files: [String], now: Timestamp
    ) -> [ExportAction] {
        let key = SessionKey(workout.user, workout.session)
        guard !deleted.contains(key), workout.revision > entries[key]?.record.workout.revision ?? -1 else { return [] }
        let known = ExportRecord.Workout(workout, files: files, now: now)
        var entry = entries[key] ?? Entry(ExportRecord(workout: known, changedAt: now))
        let outdated = Set(entry.record.workout.files).subtracting(files)
        entry.record[.folder]?.outdate(outdated)
        entry.record.workout = known
        entry.record.changedAt = now
        var changed: [Target] = []
        for target in Set(targets + [.healthKit] + entry.record.jobs.map(\.target)).sorted()
        where entry.underway[target] == nil {
            var job = entry.record[target] ?? ExportJob(target: target, workout: known.revision)
            guard job.renew(known) else { continue }
            entry.revise(job, now)
            changed.append(target)
        }
        store(entry, key)
        return [.saveWorkout(key), .save(key)] + changed.map { .publish(key, $0) }
    }

    /// The session was deleted, and everything of it goes.
    mutating func delete(_ key: SessionKey) -> [ExportAction] {
        deleted.insert(key)
        guard let entry = entries[key] else { return [] }
        forget(key)
        let files = Set(entry.record.workout.files + entry.record.jobs.flatMap { $0.files + $0.oldFiles }).sorted()
        if entry.underway[.folder] != nil { doomedFiles[key] = files }
        let clears = entry.record.jobs.map { ExportAction.publish(key, $0.target) }
        return [.erase(key)] + clears + (files.isEmpty ? [] : [.removeFiles(key, files)])
    }

    // MARK: Keeping

    mutating func store(_ entry: Entry, _ key: SessionKey) {
        for target in entries[key]?.underway.keys ?? [:].keys { underway[target, default: 0] -= 1 }
        for target in entry.underway.keys { underway[target, default: 0] += 1 }
        entries[key] = entry
        dueAt = nil
        if entry.underway.isEmpty { working.remove(key) } else { working.insert(key) }
        if entry.underway.isEmpty && entry.record.isOpen { waiting.insert(key) } else { waiting.remove(key) }
    }

    mutating func forget(_ key: SessionKey) {
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

extension ExportRecord.Workout {
    init(_ workout: WorkoutRecord, files: [String], now: Timestamp) {
        self.files = files
        revision = workout.revision
        mode = workout.mode
        summaries = workout.summaries
        healthKit = HealthKitWorkout(workout)
        readyAt = workout.incomplete == true ? now + ExporterMachine.patience : now
    }
}
