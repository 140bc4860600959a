import Bus
import ServiceKit
import Timing
import Workouts

/// The sessions of all users that this process owns. Commands, requests, items and time change them.
///
/// A value that reads no clock and returns actions. Its memory is one commit ahead of the disk.
struct SessionEngineMachine {
    /// The timeout of a session in `saving` for its summaries, in seconds.
    static let savingTimeout = 10.0
    /// Seconds from the last late item until the finished record is revised.
    static let lateQuiet = 30.0
    /// Seconds for which a deleted session is published as deleted.
    static let deletedRetention = 90 * 86_400.0
    /// The minimum seconds between changes of `lastActiveAt` alone.
    static let activityInterval = 600.0
    /// Seconds after a connect before sessions expire, so that retained `heard` arrive first.
    static let retainedTimeout = 60.0
    /// Seconds until a failed action is tried again.
    static let retryInterval = 1.0
    /// The number of replies kept for a session.
    static let replyLimit = 2_000
    /// The number of additional commands that may end, suspend, discard or recover it.
    static let endingLimit = 100

    struct Entry {
        var record: SessionRecord
        /// Replies to accepted commands, by command id.
        var replies: [CommandID: Reply] = [:]
        /// The time to finish with the available summaries.
        var finishBy: Moment?
        /// The time to revise the finished record with late items.
        var reviseBy: Moment?
        /// The time of the last event: a command or new items.
        var receivedAt: Moment {
            didSet { wasOverdue = false }
        }
        /// Whether the session was due to expire when it was loaded or the connection began, and no event came since.
        private var wasOverdue = false
        /// The services that have reported their items since the connect.
        var reporters: Set<StreamName.Kind> = []
        /// The pending question to a coach. Later commands wait.
        var question: CoachQuestion?
        /// `state`.
        var stateTopic: RetainedTopic
        /// `{session}/profile`.
        var profileTopic: RetainedTopic
        /// `workout`.
        var workoutTopic: RetainedTopic

        init(record: SessionRecord, replies: [CommandID: Reply] = [:], receivedAt: Moment) {
            self.record = record
            self.replies = replies
            self.receivedAt = receivedAt
            stateTopic = RetainedTopic(revision: record.revision)
            profileTopic = RetainedTopic(revision: record.profileRevision ?? 0)
            workoutTopic = RetainedTopic(revision: record.workout?.revision ?? 0)
        }

        /// Notes whether the session is due to expire. Until the services have reported later events, it is not offered.
        mutating func findOverdue(_ now: Moment) {
            wasOverdue = now.seconds(since: receivedAt) >= Session.expiry
        }

        /// Whether readers must not see the session yet: it expires unless a service reports an event.
        var isWithheld: Bool { wasOverdue && record.session.isUnfinished }

        /// Whether only the store needs the session until its topics are cleared, unless a message changes it.
        var canRest: Bool {
            switch record.session.status {
            case .completed: reviseBy == nil && question == nil
            case .deleted: true
            case .unfinished, .saving, .canceled: false
            }
        }
    }

    /// The user's sessions in memory.
    private struct Sessions {
        var all: Set<SessionKey> = []
        /// At most one, besides sessions recorded without a connection.
        var unfinished: Set<SessionKey> = []
        /// Those that ``Entry/canRest``, in the order in which they began to.
        var resting: [SessionKey] = []
    }

    /// Whether an external coach decides swaps and changes of difficulty.
    let asksCoach: Bool
    private(set) var entries: [SessionKey: Entry] = [:]
    var users: [User: UserRecord] = [:]
    private var sessions: [User: Sessions] = [:]
    /// Absent before a user's first session.
    var quotas: [User: UserQuota] = [:]
    /// The times at which time alone may change a session.
    var deadlines = Deadlines<SessionKey, Moment>()
    /// The service's clock at the last tick.
    var clock: Moment?
    /// The start of the connection; `nil` without one.
    var connectedAt: Moment?
    /// The online processes of route-builder.
    var routeBuilders = OnlineProcesses()
    /// Sessions whose records cannot be decoded.
    private(set) var unreadable: Set<SessionKey> = []
    /// Sessions in memory by status.
    private(set) var statusCounts: [SessionStatus: Int] = [:]

    init(asksCoach: Bool = false) {
        self.asksCoach = asksCoach
    }

    /// Loads a session from the store. Its timeouts start again.
    mutating func load(_ record: SessionRecord, replies: [CommandID: Reply], now: Moment) {
        var record = record
        record.limit(to: now)
        var entry = Entry(record: record, replies: replies, receivedAt: record.lastActiveAt)
        if record.session.statusName == .saving { entry.finishBy = now + Self.savingTimeout }
        planRevision(&entry, now)
        entry.findOverdue(now)
        let user = record.session.key.user
        users[user, default: UserRecord()].raiseCurrent(to: record.revision)
        if entry.isWithheld { users[user]?.currentTopic?.revise(now.wallClock) }
        store(entry, record.session.key, now)
    }

    /// Notes a session whose record cannot be decoded. Returns what removes it from the bus.
    mutating func loseRecord(of key: SessionKey) -> [SessionEngineAction] {
        unreadable.insert(key)
        return [.clear(key)]
    }

    /// Removes the note about a user's unreadable records, which were erased, or those of lost shards.
    mutating func forgetUnreadable(where isGone: (SessionKey) -> Bool) {
        unreadable = unreadable.filter { !isGone($0) }
    }

    /// Loads a user from the store.
    mutating func load(_ record: UserRecord, of user: User) {
        var record = record
        if let current = users[user]?.currentTopic?.revision { record.raiseCurrent(to: current) }
        record.plansTopic.raise(to: record.plans?.revision ?? 0)
        record.signedOutTopic.raise(to: record.signedOut?.revision ?? 0)
        users[user] = record
    }

    mutating func store(_ entry: Entry, _ key: SessionKey, _ now: Moment) {
        let old = entries.updateValue(entry, forKey: key)
        unreadable.remove(key)
        if let old { statusCounts[old.record.session.statusName, default: 0] -= 1 }
        statusCounts[entry.record.session.statusName, default: 0] += 1
        sessions[key.user, default: Sessions()].all.insert(key)
        if entry.record.session.isUnfinished {
            sessions[key.user]?.unfinished.insert(key)
        } else {
            sessions[key.user]?.unfinished.remove(key)
        }
        rest(entry, key, now)
        if let due = due(entry, now) { deadlines.schedule(key, at: due) }
    }

    /// Lets the oldest sessions of a user rest that are above the limit.
    private mutating func rest(_ entry: Entry, _ key: SessionKey, _ now: Moment) {
        let isListed = sessions[key.user]?.resting.contains(key) ?? false
        if !entry.canRest, isListed { sessions[key.user]?.resting.removeAll { $0 == key } }
        guard entry.canRest, !isListed else { return }
        sessions[key.user]?.resting.append(key)
        let surplus = (sessions[key.user]?.resting ?? []).dropLast(UserLimit.restingSessions)
        if let last = surplus.last { deadlines.schedule(last, at: now) }
    }

    /// Whether the user has enough newer sessions in memory that can rest.
    func isSurplus(_ key: SessionKey) -> Bool {
        (sessions[key.user]?.resting ?? []).dropLast(UserLimit.restingSessions).contains(key)
    }

    mutating func forget(_ key: SessionKey) {
        deadlines.remove(key)
        guard let old = entries.removeValue(forKey: key) else { return }
        statusCounts[old.record.session.statusName, default: 0] -= 1
        sessions[key.user]?.all.remove(key)
        sessions[key.user]?.unfinished.remove(key)
        sessions[key.user]?.resting.removeAll { $0 == key }
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
            entries[key]?.profileTopic.reconnected()
            entries[key]?.workoutTopic.reconnected()
            entries[key]?.reporters = []
        }
        for user in users.keys { users[user]?.reconnected() }
    }

    func sessions(of user: User) -> [SessionKey] { sessions[user]?.all.sorted() ?? [] }

    /// The user's unfinished session. A session recorded without a connection cannot be resumed.
    func unfinished(_ user: User) -> SessionRecord? {
        unfinishedRecords(user).first { $0.session.endAt == nil }
    }

    /// The session that `current` offers to resume.
    func offered(_ user: User) -> SessionRecord? {
        unfinishedRecords(user).first { $0.session.endAt == nil && entries[$0.session.key]?.isWithheld == false }
    }

    /// Begins a connection: sessions that are due to expire are withdrawn from `current` until it is decided.
    mutating func withholdOverdue(_ now: Moment) {
        for key in entries.keys {
            entries[key]?.findOverdue(now)
            if entries[key]?.isWithheld == true { users[key.user]?.currentTopic?.revise(now.wallClock) }
        }
    }

    /// The unfinished sessions that overlap one from `start` to `end`.
    func obstacles(_ user: User, from start: Timestamp, to end: Timestamp?) -> [Session] {
        unfinishedRecords(user).map(\.session).filter { $0.overlaps(from: start, to: end) }
    }

    private func unfinishedRecords(_ user: User) -> [SessionRecord] {
        (sessions[user]?.unfinished ?? []).sorted().compactMap { entries[$0]?.record }
    }

    /// Raises a record's revision above all revisions of the user's sessions, so that `current` can use it.
    mutating func bump(_ entry: inout Entry, _ now: Moment) {
        let user = entry.record.session.key.user
        entry.record.revision = entry.stateTopic.revise(now.wallClock, above: currentRevision(user))
        entry.record.publishedAt = now
        users[user, default: UserRecord()].raiseCurrent(to: entry.record.revision)
    }

    /// The revision of the user's `current`. It rises with every session of the user.
    func currentRevision(_ user: User) -> Int64 { users[user]?.currentTopic?.revision ?? 0 }

    /// The profile for a new session; `nil` if the user never set one.
    func profile(_ user: User) -> Profile? {
        users[user].flatMap { $0.profileTopic.revision > 0 ? $0.profile : nil }
    }
}

extension SessionEngineMachine {
    /// Receives the totals of the samples. Older revisions change nothing.
    mutating func receiveMetricsReport(
        _ report: MetricsReport, for key: SessionKey, now: Moment
    ) -> [SessionEngineAction] {
        receiveReport(report, \.report, key, now)
    }

    /// Receives the totals of the locations. Older revisions change nothing.
    mutating func receiveRouteReport(_ report: RouteReport, for key: SessionKey, now: Moment) -> [SessionEngineAction] {
        receiveReport(report, \.route, key, now)
    }

    private mutating func receiveReport<Totals>(
        _ report: SummaryReport<Totals>, _ part: WritableKeyPath<SessionRecord, SummaryReport<Totals>?>,
        _ key: SessionKey, _ now: Moment
    ) -> [SessionEngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted else { return [] }
        if let known = entry.record[keyPath: part] {
            let isNewer =
                (report.revision, report.state, report.route ?? 0) > (known.revision, known.state, known.route ?? 0)
            guard isNewer else { return [] }
        }
        let before = entry.record
        entry.record[keyPath: part] = report
        entry.record.session.receive(report.gaps)
        let published = publish(&entry, before, now)
        planRevision(&entry, now)
        store(entry, key, now)
        return [.save(key)] + published + settle(key, now)
    }

    /// Receives the weather. Older revisions change nothing.
    mutating func receiveWeather(_ weather: Weather, for key: SessionKey, now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted,
            weather.revision > entry.record.weather?.revision ?? -1
        else { return [] }
        entry.record.weather = weather
        planRevision(&entry, now)
        store(entry, key, now)
        return [.save(key)]
    }

    /// Whether a route-builder will send the totals of the locations. SessionUse arrives only after a connect.
    private func isRouteAwaited(_ now: Moment) -> Bool {
        !routeBuilders.isEmpty || connectedAt.map { now.seconds(since: $0) < Self.savingTimeout } ?? false
    }

    /// Finishes or revises the record when all expected totals are complete.
    mutating func settle(_ key: SessionKey, _ now: Moment) -> [SessionEngineAction] {
        guard let record = entries[key]?.record else { return [] }
        switch record.session.status {
        case .saving where record.isComplete || record.hasSamples && !isRouteAwaited(now): return finish(key, now)
        case .completed where record.isComplete && (record.isShort || record.lacksEdit): return finish(key, now)
        // Names and notes depend on no totals.
        case .completed where record.lacksEdit && !record.lacksEditOfTotals: return finish(key, now)
        case .unfinished, .saving, .completed, .canceled, .deleted: return []
        }
    }

    /// Composes the record from the available totals.
    mutating func finish(_ key: SessionKey, _ now: Moment) -> [SessionEngineAction] {
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
            isComplete: record.isComplete, revision: entry.workoutTopic.revise(now.wallClock))
        entry.record.finishedEdit = record.session.edit
        entry.record.publishedAt = now
        actions += stamp(&entry, now)
        store(entry, key, now)
        if let old = record.workout.map({ WorkoutOverview($0).place }),
            old != entry.record.workout.map({ WorkoutOverview($0).place })
        {
            actions.append(.unlist(key, old))
        }
        return actions + [.list(key), .publishWorkout(key)]
    }

    /// Gives the workout's change the next number of the user, in the same commit as the change.
    mutating func stamp(_ entry: inout Entry, _ now: Moment) -> [SessionEngineAction] {
        let key = entry.record.session.key
        let old = entry.record.changed
        var changes = users[key.user]?.changes ?? ChangeLog()
        entry.record.changed = changes.stamp(now.wallClock)
        users[key.user, default: UserRecord()].changes = changes
        return [.saveUser(key.user)] + (old.map { [.unlistChange(key, $0)] } ?? [])
    }
}
