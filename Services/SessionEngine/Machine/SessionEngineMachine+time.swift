import Bus
import ServiceKit
import Timing
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
        entry.reporters.insert(kind)
        entry.record.session.receive(heard.silences)
        if heard.hasLiveMetrics { entry.record.session.receiveLiveMetrics() }
        let skewed = recordClockSkew(heard, kind, &entry.record, key, now)
        let isNew = heard.count > (kind == .samples ? before.itemCount : before.locationCount ?? 0)
        if isNew {
            if kind == .samples {
                entry.record.itemCount = heard.count
            } else {
                entry.record.locationCount = heard.count
            }
            entry.receivedAt = now
            entry.record.newest = [entry.record.newest, heard.newest].compactMap(\.self).max()
            entry.record.session.receiveFirstItem()
        }
        if isNew, case .canceled(.expired, _) = entry.record.session.status {
            store(entry, key, now)
            return restore(key, now) + skewed
        }
        var actions = publish(&entry, before, now)
        let isOverdue = now.seconds(since: before.lastActiveAt) >= Self.activityInterval
        if isNew, isOverdue, actions.isEmpty, entry.record.session.isUnfinished {
            bump(&entry, now)
            actions = [.publishState(key), .publishCurrent(key.user)]
        }
        if isNew, !actions.isEmpty { entry.record.lastActiveAt = now }
        store(entry, key, now)
        actions += skewed
        return actions.isEmpty ? [] : [.save(key)] + actions
    }

    /// Takes the clocks that are off, and announces each once. Played at its own speed, a recording would look like one; a
    /// virtual run has none, so there the `at` of a start with a wrong clock does not matter.
    private func recordClockSkew(
        _ heard: Heard, _ kind: StreamName.Kind, _ record: inout SessionRecord, _ key: SessionKey, _ now: Moment
    ) -> [SessionEngineAction] {
        let part: WritableKeyPath<SessionRecord, HeardRevision?> =
            kind == .samples ? \.heardSamples : \.heardLocations
        guard heard.revision > record[keyPath: part]?.revision ?? -1 else { return [] }
        record[keyPath: part] = HeardRevision(
            revision: heard.revision,
            clockSkew: record.session.isLive || record.session.run != nil ? heard.clockSkew : [:])
        let new = record.clockSkew.filter { record.skewedDevices?.contains($0.key) != true }
        guard !new.isEmpty else { return [] }
        record.skewedDevices = (record.skewedDevices ?? []).union(new.keys)
        return new.sorted { $0.key < $1.key }.map { device, seconds in
            var announcement = Announcement(.clockSkew, at: now.wallClock)
            announcement.device = device
            announcement.seconds = seconds
            return .announce(key, announcement)
        }
    }

    /// Publishes a state that items changed. The summaries of an ended session follow, and its record.
    mutating func publish(
        _ entry: inout Entry, _ before: SessionRecord, _ now: Moment
    ) -> [SessionEngineAction] {
        let isAlike =
            entry.record.session.looks(like: before.session) && entry.record.clockSkew == before.clockSkew
        guard !isAlike else { return [] }
        bump(&entry, now)
        reviseEnd(&entry, now)
        let key = entry.record.session.key
        return [.publishState(key), .publishCurrent(key.user)]
    }

    /// Summaries of an ended session must be of its newest state, and its record follows them.
    func reviseEnd(_ entry: inout Entry, _ now: Moment) {
        guard entry.record.session.statusName.isEnded else { return }
        entry.record.endRevision = entry.record.revision
        planRevision(&entry, now)
    }

    /// Restores an expired session to its former status, or to `saving` if the user has another unfinished session.
    mutating func restore(_ key: SessionKey, _ now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key], case .canceled(.expired, _) = entry.record.session.status else { return [] }
        entry.receivedAt = now
        entry.record.lastActiveAt = now
        entry.record.session.restore(hasOther: unfinished(key.user) != nil, newest: entry.record.newest)
        bump(&entry, now)
        if entry.record.session.statusName == .saving {
            entry.finishBy = now + Self.savingTimeout
            entry.record.endRevision = entry.record.revision
        }
        store(entry, key, now)
        return [.save(key), .publishState(key), .publishCurrent(key.user)]
    }

    /// The next time at which time alone may change a session.
    func due(_ entry: Entry, _ now: Moment) -> Moment? {
        let waiting = [
            entry.record.session.deadline.map(now.when), entry.record.cueDue.map(now.when), entry.question?.answerBy,
            entry.finishBy, entry.reviseBy, goneAt(entry),
        ]
        return waiting.compactMap(\.self).min()
    }

    /// The time at which a session expires or leaves the bus.
    func goneAt(_ entry: Entry) -> Moment? {
        switch entry.record.session.status {
        // Reports arrive after the connect and may contain later events.
        case .unfinished:
            connectedAt.map { connectedAt in
                let expiresAt = entry.receivedAt + Session.expiry
                let isReported = entry.reporters.isSuperset(of: [.samples, .locations])
                return isReported ? expiresAt : max(expiresAt, connectedAt + Self.retainedTimeout)
            }
        case .canceled: entry.record.publishedAt + RetainedTopic.lifetime
        case .completed: entry.reviseBy == nil ? entry.record.publishedAt + RetainedTopic.lifetime : nil
        case .deleted: entry.record.publishedAt + Self.deletedRetention
        case .saving: nil
        }
    }

    /// Applies the service's clock: ends countdowns and timeouts, and evicts old sessions.
    mutating func advance(to now: Moment) -> [SessionEngineAction] {
        notice(now)
        routeBuilders.expire(now)
        return deadlines.take(by: now).flatMap { key in
            let actions = advance(key, to: now)
            if let due = entries[key].flatMap({ due($0, now) }) {
                deadlines.schedule(key, at: due > now ? due : now + Self.retryInterval)
            }
            return actions
        }
    }

    /// A wall clock that steps moves event times relative to the uptime, so all sessions are due.
    private mutating func notice(_ now: Moment) {
        defer { clock = now }
        guard let clock, now.hasStepped(since: clock) else { return }
        for key in entries.keys { deadlines.schedule(key, at: now) }
    }

    private mutating func advance(_ key: SessionKey, to now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key] else { return [] }
        var actions: [SessionEngineAction] = []
        let hasChanged = entry.record.session.advance(to: now.wallClock)
        let cues = takeCue(&entry, key, now)
        if hasChanged || !cues.isEmpty {
            bump(&entry, now)
            store(entry, key, now)
            actions = [.save(key), .publishState(key), .publishCurrent(key.user)] + cues
        }
        if let answerBy = entry.question?.answerBy, answerBy <= now {
            actions += answer(key, .failure(.coachTimeout), now)
        }
        if let due = [entry.finishBy, entry.reviseBy].compactMap(\.self).min(), due <= now {
            actions += finish(key, now)
        }
        guard let entry = entries[key] else { return actions }
        if let goneAt = goneAt(entry), goneAt <= now { return actions + leave(key, now) }
        return isSurplus(key) ? actions + [.rest(key)] : actions
    }

    /// Announces a new phase of the plan's clock once. Phases that passed meanwhile are not announced.
    func takeCue(_ entry: inout Entry, _ key: SessionKey, _ now: Moment) -> [SessionEngineAction] {
        guard let cue = entry.record.session.planCue(now.wallClock), cue.phase != entry.record.announced else {
            return []
        }
        entry.record.announced = cue.phase
        return [.announce(key, Announcement(.interval, at: cue.at, number: cue.phase.round, text: cue.text))]
    }

    private mutating func leave(_ key: SessionKey, _ now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key] else { return [] }
        switch entry.record.session.status {
        case .unfinished:
            entry.record.session.expire()
            bump(&entry, now)
            store(entry, key, now)
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
        entry.record.session.delete(givenUp: reason)
        entry.record.profileRevision = nil
        entry.record.report = nil
        entry.record.route = nil
        entry.record.weather = nil
        entry.record.newest = nil
        entry.record.heardSamples = nil
        entry.record.heardLocations = nil
        entry.record.skewedDevices = nil
        entry.question = nil
        let listed = entry.record.workout.map { SessionEngineAction.unlist(key, WorkoutOverview($0).place) }
        entry.replies = [:]
        entry.finishBy = nil
        entry.reviseBy = nil
        entry.record.workout = nil
        entry.record.finishedEdit = nil
        let tombstone = bury(&entry, now)
        bump(&entry, now)
        store(entry, key, now)
        return [listed].compactMap(\.self) + tombstone + [
            .save(key), .eraseReplies(key), .publishState(key), .publishWorkout(key), .publishCurrent(key.user),
        ] + (hadProfile ? [.publishSessionProfile(key)] : [])
    }

    /// Stamps the deletion of a workout that readers know.
    private mutating func bury(_ entry: inout Entry, _ now: Moment) -> [SessionEngineAction] {
        let key = entry.record.session.key
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
        let deleted = sessions(of: user).flatMap { delete($0, now) }
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
