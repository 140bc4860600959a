import Bus
import ServiceKit
import Workouts

/// The sessions of all users that this process owns. Commands, requests, items and time change them.
///
/// A value that reads no clock and returns actions. Its memory is one commit ahead of the disk.
struct SessionEngineMachine {
    /// The number of replies kept for a session.
    static let replyLimit = 2_000
    /// The number of additional commands that may end, suspend, discard or recover it.
    static let endingLimit = 100

    /// Whether an external coach decides swaps and changes of difficulty.
    let asksCoach: Bool
    var table = SessionTable()
    var users: [User: UserRecord] = [:]
    /// Absent before a user's first session.
    var quotas: [User: UserQuota] = [:]
    /// The service's clock at the last tick.
    var clock: Moment?
    /// The online processes of route-builder.
    var routeBuilders = OnlineProcesses()
    /// Sessions whose records cannot be decoded.
    private(set) var unreadable: Set<SessionKey> = []

    init(asksCoach: Bool = false) {
        self.asksCoach = asksCoach
    }

    var entries: [SessionKey: EngineSession] { table.entries }

    /// Loads a session from the store.
    mutating func load(_ record: SessionRecord, replies: [CommandID: AcceptedReply], now: Moment) {
        let entry = EngineSession(loaded: record, replies: replies, now: now)
        let user = entry.key.user
        users[user, default: UserRecord()].raiseCurrent(to: record.revision)
        if entry.isWithheld { users[user]?.currentTopic?.revise(now.wallClock) }
        store(entry, now)
    }

    mutating func store(_ entry: EngineSession, _ now: Moment) {
        table.store(entry, now)
        unreadable.remove(entry.key)
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

    /// The user's unfinished session. A session recorded without a connection cannot be resumed.
    func unfinished(_ user: User) -> SessionRecord? {
        table.unfinished(of: user).map(\.record).first { $0.session.endAt == nil }
    }

    /// The session that `current` offers to resume.
    func offered(_ user: User) -> SessionRecord? {
        table.unfinished(of: user).first { $0.record.session.endAt == nil && !$0.isWithheld }?.record
    }

    /// The unfinished sessions that overlap one from `start` to `end`.
    func obstacles(_ user: User, from start: Timestamp, to end: Timestamp?) -> [Session] {
        table.unfinished(of: user).map(\.record.session).filter { $0.overlaps(from: start, to: end) }
    }

    /// Raises a record's revision above all revisions of the user's sessions, so that `current` can use it.
    mutating func bump(_ entry: inout EngineSession, _ now: Moment) {
        let user = entry.key.user
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
        entry.planRevision(now)
        store(entry, now)
        return [.save(key)] + published + settle(key, now)
    }

    /// Receives the weather. Older revisions change nothing.
    mutating func receiveWeather(_ weather: Weather, for key: SessionKey, now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted,
            weather.revision > entry.record.weather?.revision ?? -1
        else { return [] }
        entry.record.weather = weather
        entry.planRevision(now)
        store(entry, now)
        return [.save(key)]
    }

    /// Whether a route-builder will send the totals of the locations. SessionUse arrives only after a connect.
    private func isRouteAwaited(_ now: Moment) -> Bool {
        !routeBuilders.isEmpty
            || table.connectedAt.map { now.seconds(since: $0) < EngineSession.savingTimeout } ?? false
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
        let former = entry.record.workout
        entry.compose(now)
        actions += stamp(&entry, now)
        store(entry, now)
        if let old = former.map({ WorkoutOverview($0).place }),
            old != entry.record.workout.map({ WorkoutOverview($0).place })
        {
            actions.append(.unlist(key, old))
        }
        return actions + [.list(key), .publishWorkout(key)]
    }

    /// Gives the workout's change the next number of the user, in the same commit as the change.
    mutating func stamp(_ entry: inout EngineSession, _ now: Moment) -> [SessionEngineAction] {
        let key = entry.key
        let old = entry.record.changed
        var changes = users[key.user]?.changes ?? ChangeLog()
        entry.record.changed = changes.stamp(now.wallClock)
        users[key.user, default: UserRecord()].changes = changes
        return [.saveUser(key.user)] + (old.map { [.unlistChange(key, $0)] } ?? [])
    }
}
