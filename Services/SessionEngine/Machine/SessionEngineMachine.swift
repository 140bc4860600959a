import Bus
import ServiceKit
import Workouts

/// The sessions of all users that this process owns, and what commands, requests, items and time do to them.
///
/// A value: it reads no clock, performs nothing and returns what to do. Its memory runs ahead of the disk by one commit.
struct SessionEngineMachine {
    /// How long a session in `saving` waits for its summaries.
    static let savingPatience = 10.0
    /// How long after the last late item a finished record is revised.
    static let lateQuiet = 30.0
    /// How long topics stay retained after their last revision, and how long a canceled session can be recovered.
    static let retention = 48 * 3_600.0
    /// How long it is told that a session was deleted.
    static let deletedRetention = 90 * 86_400.0
    /// `lastActiveAt` moves with another change, else at most this often.
    static let activityInterval = 600.0
    /// After a connect the retained `metrics` are awaited before anything expires.
    static let hearingTime = 60.0
    /// What could not be carried out yet is tried again after so long.
    static let retryInterval = 1.0
    /// Replies that are kept of one session.
    static let replyLimit = 2_000
    /// So many more may end, suspend, discard or recover it.
    static let endingLimit = 100

    struct Entry {
        var record: SessionRecord
        /// Replies to the accepted commands, by the command's id.
        var replies: [CommandID: Reply] = [:]
        /// When to finish with the summaries that are there.
        var finishBy: Timestamp?
        /// When to revise the finished record with what came late.
        var reviseBy: Timestamp?
        /// When something was last heard of it: a command, or new items.
        var heardAt: Timestamp
        /// A change that an outside coach is asked about; what came after it waits.
        var question: CoachQuestion?
        /// `state`.
        var stateTopic: RetainedTopic
        /// `workout`.
        var workoutTopic: RetainedTopic

        init(record: SessionRecord, replies: [CommandID: Reply] = [:], heardAt: Timestamp) {
            self.record = record
            self.replies = replies
            self.heardAt = heardAt
            stateTopic = RetainedTopic(revision: record.revision)
            workoutTopic = RetainedTopic(revision: record.workout?.revision ?? 0)
        }
    }

    /// A user's sessions in memory.
    private struct Sessions {
        var all: Set<SessionKey> = []
        /// One, and besides it those that were over as they were begun.
        var unfinished: Set<SessionKey> = []
    }

    /// Whether swaps and changes of difficulty are asked of an outside coach.
    let asksCoach: Bool
    private(set) var entries: [SessionKey: Entry] = [:]
    var users: [User: UserRecord] = [:]
    private var sessions: [User: Sessions] = [:]
    /// When time alone may change a session.
    var deadlines = Deadlines()
    /// The service's clock as it was last looked at.
    var clock: Timestamp?
    /// Since when there is a connection; `nil` while there is none.
    var connectedAt: Timestamp?
    /// The processes of route-builder that are online.
    var routeBuilders: Set<ProcessName> = []
    /// Sessions in memory by status.
    private(set) var statusCounts: [SessionStatus: Int] = [:]

    init(asksCoach: Bool = false) {
        self.asksCoach = asksCoach
    }

    /// Takes over a session from the store. What it waits for is waited for anew.
    mutating func load(_ record: SessionRecord, replies: [CommandID: Reply], now: Timestamp) {
        var entry = Entry(record: record, replies: replies, heardAt: record.lastActiveAt)
        if record.session.statusName == .saving { entry.finishBy = now + Self.savingPatience }
        if record.isRevised { entry.reviseBy = now + Self.lateQuiet }
        let user = record.session.key.user
        users[user, default: UserRecord()].raiseCurrent(to: record.revision)
        store(entry, record.session.key)
    }

    /// Takes over a user from the store.
    mutating func load(_ record: UserRecord, of user: User) {
        var record = record
        if let current = users[user]?.currentTopic?.revision { record.raiseCurrent(to: current) }
        record.plansTopic.raise(to: record.plans?.revision ?? 0)
        users[user] = record
    }

    mutating func store(_ entry: Entry, _ key: SessionKey) {
        let old = entries.updateValue(entry, forKey: key)
        if let old { statusCounts[old.record.session.statusName, default: 0] -= 1 }
        statusCounts[entry.record.session.statusName, default: 0] += 1
        sessions[key.user, default: Sessions()].all.insert(key)
        if entry.record.session.isUnfinished {
            sessions[key.user]?.unfinished.insert(key)
        } else {
            sessions[key.user]?.unfinished.remove(key)
        }
        if let due = due(entry) { deadlines.ask(key, at: due) }
    }

    mutating func forget(_ key: SessionKey) {
        deadlines.forget(key)
        guard let old = entries.removeValue(forKey: key) else { return }
        statusCounts[old.record.session.statusName, default: 0] -= 1
        sessions[key.user]?.all.remove(key)
        sessions[key.user]?.unfinished.remove(key)
        if sessions[key.user]?.all.isEmpty == true { sessions[key.user] = nil }
    }

    /// Notes that a revision of a session's topic is published.
    mutating func published(
        _ revision: Int64, of key: SessionKey, _ topic: WritableKeyPath<Entry, RetainedTopic>
    ) {
        entries[key]?[keyPath: topic].published(revision)
    }

    /// A new connection brings no echoes of the old one.
    mutating func reconnected() {
        for key in entries.keys {
            entries[key]?.stateTopic.reconnected()
            entries[key]?.workoutTopic.reconnected()
        }
        for user in users.keys { users[user]?.reconnected() }
    }

    /// Forgets users that are another process's now.
    mutating func drop(where isLost: (User) -> Bool) {
        for key in entries.keys where isLost(key.user) { forget(key) }
        for user in users.keys where isLost(user) { users[user] = nil }
    }

    func sessions(of user: User) -> [SessionKey] { sessions[user]?.all.sorted() ?? [] }

    /// The user's session that goes on; one that was over as it was begun is none to resume.
    func unfinished(_ user: User) -> SessionRecord? {
        unfinishedRecords(user).first { $0.session.endAt == nil }
    }

    /// The unfinished session that stands in the way of one from `start` to `end`.
    func obstacle(_ user: User, from start: Timestamp, to end: Timestamp?) -> SessionKey? {
        unfinishedRecords(user).first { $0.session.overlaps(from: start, to: end) }?.session.key
    }

    private func unfinishedRecords(_ user: User) -> [SessionRecord] {
        (sessions[user]?.unfinished ?? []).sorted().compactMap { entries[$0]?.record }
    }

    /// Gives a record a revision above every one that this user's sessions ever had, so that `current` can take it over.
    mutating func bump(_ entry: inout Entry, _ now: Timestamp) {
        let user = entry.record.session.key.user
        entry.record.revision = entry.stateTopic.revise(now, above: currentRevision(user))
        entry.record.publishedAt = now
        users[user, default: UserRecord()].raiseCurrent(to: entry.record.revision)
    }

    /// The revision of the user's `current`: it moves with every session of the user, and never back.
    func currentRevision(_ user: User) -> Int64 { users[user]?.currentTopic?.revision ?? 0 }

    /// The profile for a session that begins; `nil` when none was ever told.
    func profile(_ user: User) -> Profile? {
        users[user].flatMap { $0.profileTopic.revision > 0 ? $0.profile : nil }
    }
}

extension SessionEngineMachine {
    /// Takes the totals of the samples; older ones than those known change nothing.
    mutating func receive(_ report: MetricsReport, for key: SessionKey, now: Timestamp) -> [SessionEngineAction] {
        take(report, \.report, key, now)
    }

    /// Takes the totals of the locations; older ones than those known change nothing.
    mutating func receive(_ report: RouteReport, for key: SessionKey, now: Timestamp) -> [SessionEngineAction] {
        take(report, \.route, key, now)
    }

    private mutating func take<Totals>(
        _ report: SummaryReport<Totals>, _ part: WritableKeyPath<SessionRecord, SummaryReport<Totals>?>,
        _ key: SessionKey, _ now: Timestamp
    ) -> [SessionEngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted else { return [] }
        if let known = entry.record[keyPath: part] {
            guard (report.revision, report.state) > (known.revision, known.state) else { return [] }
        }
        entry.record[keyPath: part] = report
        if entry.record.isRevised { entry.reviseBy = now + Self.lateQuiet }
        store(entry, key)
        return [.save(key)] + settle(key, now)
    }

    /// Takes the weather; an older value than the one known changes nothing.
    mutating func receive(_ weather: Weather, for key: SessionKey, now: Timestamp) -> [SessionEngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted,
            weather.revision > entry.record.weather?.revision ?? -1
        else { return [] }
        entry.record.weather = weather
        if entry.record.isRevised { entry.reviseBy = now + Self.lateQuiet }
        store(entry, key)
        return [.save(key)]
    }

    /// A route-builder came or went.
    mutating func see(routeBuilder: ProcessName, isOnline: Bool) {
        if isOnline { routeBuilders.insert(routeBuilder) } else { routeBuilders.remove(routeBuilder) }
    }

    /// Whether somebody makes the totals of the locations; who does is told only after a connect.
    private func isRouteAwaited(_ now: Timestamp) -> Bool {
        !routeBuilders.isEmpty || connectedAt.map { now.seconds(since: $0) < Self.savingPatience } ?? false
    }

    /// Finishes or revises the record when everything announced is there, or all of it that is awaited.
    mutating func settle(_ key: SessionKey, _ now: Timestamp) -> [SessionEngineAction] {
        guard let record = entries[key]?.record else { return [] }
        switch record.session.status {
        case .saving where record.isComplete || record.hasSamples && !isRouteAwaited(now): return finish(key, now)
        case .completed where record.isComplete && record.isShort: return finish(key, now)
        case .unfinished, .saving, .completed, .canceled, .deleted: return []
        }
    }

    /// Composes the record from what is there.
    mutating func finish(_ key: SessionKey, _ now: Timestamp) -> [SessionEngineAction] {
        guard var entry = entries[key] else { return [] }
        var actions: [SessionEngineAction] = [.save(key)]
        entry.finishBy = nil
        entry.reviseBy = nil
        if entry.record.session.statusName == .saving {
            entry.record.session.complete()
            bump(&entry, now)
            actions += [.publishState(key), .publishCurrent(key.user)]
        }
        let record = entry.record
        entry.record.workout = WorkoutRecord(
            record.session, metrics: record.report, route: record.route, weather: record.weather,
            isComplete: record.isComplete, revision: entry.workoutTopic.revise(now))
        entry.record.publishedAt = now
        store(entry, key)
        return actions + [.publishWorkout(key)]
    }
}
