import Bus
import ServiceKit
import Workouts

extension SessionEngineMachine {
    /// Handles a service's report of its items: their number and silences, live metrics, clocks that are off. Reports of a
    /// deleted session are ignored.
    ///
    /// Most change nothing that readers see, and are not saved: the service publishes them again after a restart of either.
    mutating func receiveHeard(
        _ heard: Heard, _ kind: StreamName.Kind, of key: SessionKey, now: Moment
    ) -> [SessionEngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted else { return [] }
        let before = entry.record
        let isOverdue = entry.isActivityOverdue(now)
        let isNew = entry.receive(heard, kind, now: now)
        let skewed = entry.receiveClockSkew(heard, kind, now: now)
        if isNew, case .canceled(.expired, _) = entry.record.session.status {
            store(entry, now)
            return restore(key, now) + skewed
        }
        var actions = publish(&entry, before, now)
        if isNew, isOverdue, actions.isEmpty, entry.record.session.isUnfinished {
            bump(&entry, now)
            actions = [.publishState(key), .publishCurrent(key.user)]
        }
        if isNew, !actions.isEmpty { entry.record.lastActiveAt = now }
        store(entry, now)
        actions += skewed
        return actions.isEmpty ? [] : [.save(key)] + actions
    }

    /// Publishes a state that items changed. The summaries of an ended session follow, and its record.
    mutating func publish(
        _ entry: inout EngineSession, _ before: SessionRecord, _ now: Moment
    ) -> [SessionEngineAction] {
        let isAlike =
            entry.record.session.looks(like: before.session) && entry.record.clockSkew == before.clockSkew
        guard !isAlike else { return [] }
        bump(&entry, now)
        entry.reviseEnd(now)
        return [.publishState(entry.key), .publishCurrent(entry.key.user)]
    }

    /// Restores an expired session to its former status, or to `saving` if the user has another unfinished session.
    mutating func restore(_ key: SessionKey, _ now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key], case .canceled(.expired, _) = entry.record.session.status else { return [] }
        entry.receivedAt = now
        entry.record.lastActiveAt = now
        entry.record.session.restore(hasOther: unfinished(key.user) != nil, newest: entry.record.newest)
        bump(&entry, now)
        if entry.record.session.statusName == .saving {
            entry.finishBy = now + EngineSession.savingTimeout
            entry.record.endRevision = entry.record.revision
        }
        store(entry, now)
        return [.save(key), .publishState(key), .publishCurrent(key.user)]
    }

    /// Applies the service's clock: ends countdowns and timeouts, and evicts old sessions.
    mutating func advance(to now: Moment) -> [SessionEngineAction] {
        notice(now)
        routeBuilders.expire(now)
        return table.takeDue(now).flatMap { key in
            defer { table.reschedule(key, now) }
            return advance(key, to: now)
        }
    }

    /// A wall clock that steps moves event times relative to the uptime, so all sessions are due.
    private mutating func notice(_ now: Moment) {
        defer { clock = now }
        guard let clock, now.hasStepped(since: clock) else { return }
        table.scheduleAll(at: now)
    }

    private mutating func advance(_ key: SessionKey, to now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key] else { return [] }
        var actions: [SessionEngineAction] = []
        let hasChanged = entry.record.session.advance(to: now.wallClock)
        let cues = entry.takeCue(now)
        if hasChanged || !cues.isEmpty {
            bump(&entry, now)
            store(entry, now)
            actions = [.save(key), .publishState(key), .publishCurrent(key.user)] + cues
        }
        if let answerBy = entry.question?.answerBy, answerBy <= now {
            actions += answer(key, .failure(.coachTimeout), now)
        }
        if let due = [entry.finishBy, entry.reviseBy].compactMap(\.self).min(), due <= now {
            actions += finish(key, now)
        }
        guard let entry = entries[key] else { return actions }
        if let goneAt = table.goneAt(entry), goneAt <= now { return actions + leave(key, now) }
        return table.isSurplus(key) ? actions + [.rest(key)] : actions
    }

    private mutating func leave(_ key: SessionKey, _ now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key] else { return [] }
        switch entry.record.session.status {
        case .unfinished:
            entry.record.session.expire()
            bump(&entry, now)
            store(entry, now)
            return [.save(key), .publishState(key), .publishCurrent(key.user)]
        case .canceled(let reason, _): return delete(key, now, givenUp: reason)
        // The user keeps the highest revision, because the revision of `current` must exceed it.
        case .completed: return [.saveUser(key.user), .archive(key), .clear(key)]
        case .deleted:
            return forgetChange(entry.record) + [.saveUser(key.user), .erase(key), .clear(key)]
        case .saving: return []
        }
    }

    /// Removes a session's data and publishes it as deleted for a while.
    mutating func delete(
        _ key: SessionKey, _ now: Moment, givenUp reason: Session.CancelReason? = nil
    ) -> [SessionEngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted else { return [] }
        let hadProfile = entry.record.profileRevision != nil
        let listed = entry.record.workout.map { SessionEngineAction.unlist(key, WorkoutOverview($0).place) }
        entry.delete(givenUp: reason)
        let tombstone = bury(&entry, now)
        bump(&entry, now)
        store(entry, now)
        return [listed].compactMap(\.self) + tombstone + [
            .save(key), .eraseReplies(key), .publishState(key), .publishWorkout(key), .publishCurrent(key.user),
        ] + (hadProfile ? [.publishSessionProfile(key)] : [])
    }

    /// Stamps the deletion of a workout that readers know.
    private mutating func bury(_ entry: inout EngineSession, _ now: Moment) -> [SessionEngineAction] {
        let key = entry.key
        guard let changed = entry.record.changed, changed > users[key.user]?.changes?.cleared ?? 0 else {
            entry.record.changed = nil
            return []
        }
        return stamp(&entry, now) + [.listDeleted(key)]
    }

    /// Removes the tombstone of a deleted session that leaves the store. Older cursors are reset from now on.
    mutating func forgetChange(_ record: SessionRecord) -> [SessionEngineAction] {
        guard let changed = record.changed else { return [] }
        let key = record.session.key
        users[key.user]?.changes?.forget(changed)
        return [.unlistChange(key, changed), .saveUser(key.user)]
    }

    /// Removes all changes of a user. Every reader drops its copy.
    private mutating func forgetChanges(of user: User, _ now: Moment) {
        users[user]?.changes?.clear(now.wallClock)
    }

    /// Removes all data of a user: of the sessions in memory at once, of the others step by step.
    mutating func eraseEverything(of user: User, _ now: Moment) -> [SessionEngineAction] {
        let cutoff = max(currentRevision(user), now.wallClock.milliseconds)
        forgetChanges(of: user, now)
        let deleted = table.sessions(of: user).flatMap { delete($0, now) }
        users[user, default: UserRecord()].erasing = cutoff
        users[user]?.erasedAt = now.wallClock
        return [.unlistAll(user), .saveUser(user)] + deleted + set(Profile(), user, now) + set([], user, now)
    }

    /// Whether a stored session is from before its user's data is to be removed.
    func isErased(_ user: User, revision: Int64) -> Bool { users[user]?.erasing.map { revision <= $0 } ?? false }

    /// Loads a session from the store and removes its data.
    mutating func erase(_ record: SessionRecord, _ now: Moment) -> [SessionEngineAction] {
        let key = record.session.key
        guard entries[key] == nil, record.session.statusName != .deleted else { return [] }
        load(record, replies: [:], now: now)
        return [.unarchive(key)] + delete(key, now)
    }

    /// Ends the removal of a user's data.
    mutating func erased(_ user: User) -> [SessionEngineAction] {
        users[user]?.erasing = nil
        forgetUnreadable { $0.user == user }
        return [.eraseCorrupt(user), .saveUser(user)]
    }
}
