import Bus
import Workouts

/// The sessions of all users that this process owns, and what commands, summaries and time do to them.
///
/// A value: it reads no clock, performs nothing and returns what to do. Its memory runs ahead of the disk by one commit.
struct EngineMachine {
    /// How long a session in `saving` waits for its summaries.
    static let savingPatience = 10.0
    /// How long after the last late item a finished record is revised.
    static let lateQuiet = 30.0

    struct Entry {
        var record: SessionRecord
        /// Replies to the accepted commands, by the command's id.
        var replies: [CommandID: Reply] = [:]
        /// When to finish with the summaries that are there.
        var finishBy: Timestamp?
        /// When to revise the finished record with what came late.
        var reviseBy: Timestamp?
        /// What this process published since the connection began comes back as an echo.
        var echoes = Echoes()
    }

    var entries: [SessionKey: Entry] = [:]
    private var sessionsByUser: [User: Set<SessionKey>] = [:]
    /// Entries that time alone may change.
    private var waiting: Set<SessionKey> = []
    /// The first revision of each user's `current` published since the connection began.
    var currentEchoes: [User: Int64] = [:]

    /// Takes over a session from the store. What it waits for is waited for anew.
    mutating func load(_ record: SessionRecord, replies: [CommandID: Reply], now: Timestamp) {
        let key = record.session.key
        var entry = Entry(record: record, replies: replies)
        if record.session.statusName == .saving { entry.finishBy = now + Self.savingPatience }
        if let workout = record.workout, record.report.map({ $0.revision != workout.summaries["metrics"] }) ?? false {
            entry.reviseBy = now + Self.lateQuiet
        }
        store(entry, key)
    }

    /// Forgets sessions that are another process's now.
    mutating func drop(where isLost: (SessionKey) -> Bool) {
        for key in entries.keys.filter(isLost) {
            entries[key] = nil
            waiting.remove(key)
            sessionsByUser[key.user]?.remove(key)
        }
    }

    private mutating func store(_ entry: Entry, _ key: SessionKey) {
        entries[key] = entry
        sessionsByUser[key.user, default: []].insert(key)
        if entry.finishBy != nil || entry.reviseBy != nil || entry.record.session.deadline != nil {
            waiting.insert(key)
        } else {
            waiting.remove(key)
        }
    }

    // MARK: Commands

    /// Applies a command once: a repeat of an accepted one gets the stored reply, a refused one is judged anew.
    mutating func receive(_ command: Command, for key: SessionKey, now: Timestamp) -> [EngineAction] {
        if let stored = entries[key]?.replies[command.id] {
            var reply = stored
            reply.now = now
            var actions: [EngineAction] = [.reply(key.user, command.client, reply)]
            // A device that ends again has not seen the record.
            if case .end = command.action, entries[key]?.record.workout != nil { actions.append(.publishWorkout(key)) }
            return actions
        }
        do throws(Refusal) {
            return try apply(command, key, now)
        } catch {
            return [refuse(command.envelope, for: key, error, now: now)]
        }
    }

    /// The answer to a command that could not be carried out.
    func refuse(
        _ envelope: Command.Envelope, for key: SessionKey, _ refusal: Refusal, now: Timestamp
    ) -> EngineAction {
        let revision = entries[key]?.record.revision
        return .reply(key.user, envelope.client, Reply(id: envelope.id, revision: revision, now: now, error: refusal))
    }

    private mutating func apply(
        _ command: Command, _ key: SessionKey, _ now: Timestamp
    ) throws(Refusal) -> [EngineAction] {
        let at = command.at ?? now
        guard AcceptedTimes(now: now).contains(at) else {
            throw .invalidCommand("at: before 2000 or more than a day ahead of the engine's clock")
        }
        var entry: Entry
        if case .start(let start) = command.action {
            entry = try begin(start, key, at, now)
        } else {
            guard let known = entries[key] else { throw .sessionNotFound }
            entry = known
            try entry.record.session.apply(command.action, at: at)
        }
        var actions: [EngineAction] = []
        if entry.record.session != entries[key]?.record.session {
            bump(&entry.record, now)
            if case .end = command.action { entry.record.endRevision = entry.record.revision }
            if entry.record.session.statusName == .saving { entry.finishBy = now + Self.savingPatience }
            actions = [.publishState(key), .publishCurrent(key.user)]
        } else if entry.record.workout != nil {
            actions = [.publishWorkout(key)]
        }
        if case .lap = command.action {
            let number = entry.record.session.laps.count
            actions.append(.announce(key, Announcement(.lap, at: at, number: number, text: "Lap \(number)")))
        }
        let reply = Reply(id: command.id, revision: entry.record.revision, now: now)
        entry.replies[command.id] = reply
        store(entry, key)
        return [.save(key), .saveReply(key, reply)] + actions + settle(key, now)
            + [.reply(key.user, command.client, reply)]
    }

    private func begin(
        _ start: SessionStart, _ key: SessionKey, _ at: Timestamp, _ now: Timestamp
    ) throws(Refusal) -> Entry {
        guard entries[key] == nil else { throw .invalidState("the session has begun already") }
        if let startAt = start.startAt, !AcceptedTimes(now: now).contains(startAt) {
            throw .invalidCommand("startAt: before 2000 or more than a day ahead of the engine's clock")
        }
        if let other = unfinished(key.user) { throw .sessionInProgress(other.session.key.session) }
        return Entry(record: SessionRecord(session: Session(key: key, start: start, at: at, now: now), revision: 0))
    }

    /// The user's one unfinished session.
    func unfinished(_ user: User) -> SessionRecord? {
        sessionsByUser[user]?.lazy.compactMap { entries[$0]?.record }.first { $0.session.isUnfinished }
    }

    /// Gives a record a revision above every one that this user's sessions ever had, so that `current` can take it over.
    func bump(_ record: inout SessionRecord, _ now: Timestamp) {
        record.revision = max(currentRevision(record.session.key.user), record.revision) + 1
        record.revision = max(record.revision, now.milliseconds)
    }

    /// The revision of the user's `current`: it moves with every session of the user.
    func currentRevision(_ user: User) -> Int64 {
        sessionsByUser[user]?.compactMap { entries[$0]?.record.revision }.max() ?? 0
    }

    // MARK: Summaries

    /// Takes the totals of the samples; older ones than those known change nothing.
    mutating func receive(_ report: MetricsReport, for key: SessionKey, now: Timestamp) -> [EngineAction] {
        guard var entry = entries[key] else { return [] }
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
    private mutating func settle(_ key: SessionKey, _ now: Timestamp) -> [EngineAction] {
        guard let entry = entries[key], entry.record.isCovered else { return [] }
        switch entry.record.session.status {
        case .saving: return finish(key, now)
        case .completed where entry.record.workout?.incomplete == true: return finish(key, now)
        case .preparing, .active, .paused, .completed, .canceled: return []
        }
    }

    /// Composes the record from what is there.
    private mutating func finish(_ key: SessionKey, _ now: Timestamp) -> [EngineAction] {
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

    // MARK: Time

    /// Lets the service's clock pass: countdowns end, patience ends.
    mutating func advance(to now: Timestamp) -> [EngineAction] {
        var actions: [EngineAction] = []
        for key in waiting.sorted() {
            guard var entry = entries[key] else { continue }
            if entry.record.session.advance(to: now) {
                bump(&entry.record, now)
                store(entry, key)
                actions += [.save(key), .publishState(key), .publishCurrent(key.user)]
            }
            if let due = [entry.finishBy, entry.reviseBy].compactMap(\.self).min(), due <= now {
                actions += finish(key, now)
            }
        }
        return actions
    }
}
