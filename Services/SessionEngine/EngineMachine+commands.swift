import Bus
import Workouts

extension EngineMachine {
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
        if hold(command, key, now) { return [] }
        let restored = isHeard(command.action) ? restore(key, now) : []
        do throws(Refusal) {
            try check(command, key, now)
            if let asked = try ask(command, key, now) { return restored + asked }
            return restored + (try apply(command, key, now))
        } catch {
            return restored + [refuse(command.envelope, for: key, error, now: now)]
        }
    }

    /// Whether a command tells that a session which expired goes on after all.
    private func isHeard(_ action: SessionAction) -> Bool {
        switch action {
        case .deviceReady, .pause, .resume, .lap, .suspend, .end, .discard, .plan: true
        case .start, .recover: false
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
        var actions: [EngineAction] = []
        var entry: Entry
        if case .start(let start) = command.action {
            entry = try begin(start, key, at, now)
            actions += replace(start, key, at, now)
        } else {
            guard let known = entries[key] else { throw .sessionNotFound }
            entry = known
            try entry.record.session.apply(command.action, at: at, newest: entry.record.newest)
        }
        return actions + accept(command, entry, key, now)
    }

    /// Keeps what a command made of a session, and replies.
    mutating func accept(_ command: Command, _ changed: Entry, _ key: SessionKey, _ now: Timestamp) -> [EngineAction] {
        var entry = changed
        var actions: [EngineAction] = []
        entry.heardAt = now
        let hasChanged = entry.record.session != entries[key]?.record.session
        let isOverdue =
            entry.record.session.isUnfinished
            && now.seconds(since: entry.record.lastActiveAt) >= Self.activityInterval
        let cues = takeCue(&entry, key, now)
        if hasChanged || isOverdue || !cues.isEmpty {
            entry.record.lastActiveAt = now
            bump(&entry.record, now)
            actions += [.publishState(key), .publishCurrent(key.user)]
        }
        if hasChanged, entry.record.session.statusName == .saving { entry.finishBy = now + Self.savingPatience }
        let at = command.at ?? now
        switch command.action {
        case .end where hasChanged: entry.record.endRevision = entry.record.revision
        case .end where entry.record.workout != nil: actions.append(.publishWorkout(key))
        case .recover: entry.record.endRevision = entry.record.revision
        case .lap:
            let number = entry.record.session.laps.count
            actions.append(.announce(key, Announcement(.lap, at: at, number: number, text: "Lap \(number)")))
        case .start, .deviceReady, .pause, .resume, .suspend, .end, .discard, .plan: break
        }
        actions += cues
        var reply = Reply(id: command.id, revision: entry.record.revision, now: now)
        reply.at = at
        entry.replies[command.id] = reply
        store(entry, key)
        return [.save(key), .saveReply(key, reply)] + actions + settle(key, now)
            + [.reply(key.user, command.client, reply)]
    }

    /// How many commands a session may have had; there is room to end it after all others.
    private func replyLimit(_ action: SessionAction) -> Int {
        switch action {
        case .end, .suspend, .discard, .recover: Self.replyLimit + Self.endingLimit
        case .start, .deviceReady, .pause, .resume, .lap, .plan: Self.replyLimit
        }
    }

    /// Refuses what cannot be carried out at once, and what no coach is asked about either.
    private func check(_ command: Command, _ key: SessionKey, _ now: Timestamp) throws(Refusal) {
        try check(command.at, "at", now)
        guard entries[key]?.replies.count ?? 0 < replyLimit(command.action) else {
            throw .invalidState("too many commands in one session")
        }
    }

    private func check(_ time: Timestamp?, _ field: String, _ now: Timestamp) throws(Refusal) {
        guard let time, !AcceptedTimes(now: now).contains(time) else { return }
        throw .invalidCommand("\(field): before 2000 or more than a day ahead of the engine's clock")
    }

    private func begin(
        _ start: SessionStart, _ key: SessionKey, _ at: Timestamp, _ now: Timestamp
    ) throws(Refusal) -> Entry {
        guard entries[key] == nil else { throw .invalidState("the session has begun already") }
        try check(start.startAt, "startAt", now)
        try check(start.endAt, "endAt", now)
        if let obstacle = obstacle(key.user, from: at, to: start.endAt), !start.replace {
            throw .sessionInProgress(obstacle.session)
        }
        let session = Session(key: key, start: start, profile: profile(key.user), at: at, now: now)
        return Entry(record: SessionRecord(session: session, revision: 0, lastActiveAt: now), heardAt: now)
    }

    /// Discards what stands in the way of a session that replaces it.
    private mutating func replace(
        _ start: SessionStart, _ key: SessionKey, _ at: Timestamp, _ now: Timestamp
    ) -> [EngineAction] {
        var actions: [EngineAction] = []
        while let obstacle = obstacle(key.user, from: at, to: start.endAt), var other = entries[obstacle] {
            // An unfinished session can always be discarded.
            guard (try? other.record.session.apply(.discard, at: at)) != nil else { break }
            bump(&other.record, now)
            store(other, obstacle)
            actions += [.save(obstacle), .publishState(obstacle)]
        }
        return actions
    }
}
