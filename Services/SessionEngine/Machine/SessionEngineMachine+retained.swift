import Bus
import MQTT
import ServiceKit
import Workouts

/// The broker may lose its state or restore an old one. The owner publishes the state that counts.
extension SessionEngineMachine {
    /// A new connection: all retained topics are published again, live sessions first.
    mutating func connected(now: Moment) -> [SessionEngineAction] {
        routeBuilders = OnlineProcesses()
        for user in users.keys { users[user]?.reconnected() }
        for key in table.connected(now) { users[key.user]?.currentTopic?.revise(now.wallClock) }
        return announce(Set(Shard.all), now: now)
    }

    /// The retained topics of users in some shards, live sessions first.
    func announce(_ shards: Set<Shard>, now: Moment) -> [SessionEngineAction] {
        let keys = entries.keys.filter { shards.contains($0.user.shard) }.sorted { left, right in
            (isLive(left) ? 0 : 1, left) < (isLive(right) ? 0 : 1, right)
        }
        let sessions = keys.flatMap { key -> [SessionEngineAction] in
            entries[key].map(announce) ?? []
        }
        let known = users.filter { shards.contains($0.key.shard) }.sorted { $0.key < $1.key }
        let current = known.filter { $0.value.currentTopic != nil }.map { SessionEngineAction.publishCurrent($0.key) }
        let profiles = known.filter { $0.value.profileTopic.revision > 0 }.map {
            SessionEngineAction.publishProfile($0.key)
        }
        let plans = known.filter { $0.value.plans != nil }.map { SessionEngineAction.publishPlans($0.key) }
        let signedOut = known.filter { $0.value.signedOut != nil }.map { SessionEngineAction.publishSignedOut($0.key) }
        let lost = unreadable.filter { shards.contains($0.user.shard) }.sorted().map(SessionEngineAction.clear)
        return signedOut + sessions + current + profiles + plans + lost
    }

    /// The retained topics of a session. Its `state` comes first: a reader keeps messages of an unknown session only as
    /// long as it has room.
    func announce(_ entry: EngineSession) -> [SessionEngineAction] {
        let key = entry.key
        let workout: [SessionEngineAction] = entry.record.workout == nil ? [] : [.publishWorkout(key)]
        return [.publishState(key)] + publishProfile(entry) + workout
    }

    /// Publishes the copy of the profile, if the session has one.
    func publishProfile(_ entry: EngineSession) -> [SessionEngineAction] {
        entry.record.profileRevision == nil ? [] : [.publishSessionProfile(entry.key)]
    }

    mutating func disconnected(now: Moment) -> [SessionEngineAction] {
        table.disconnected()
        return []
    }

    private func isLive(_ key: SessionKey) -> Bool {
        entries[key].map { !$0.record.session.statusName.isSettled } ?? false
    }

    /// Handles a revision of `state` on the bus.
    mutating func seeState(_ revision: Int64, of key: SessionKey, now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key] else { return seeUnknown(revision, of: key, now) }
        switch entry.stateTopic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publishState(key)]
        case .revised:
            bump(&entry, now)
            store(entry, now)
            return [.save(key), .publishState(key), .publishCurrent(key.user)]
        }
    }

    /// Handles a revision of a session's `profile` on the bus.
    mutating func seeSessionProfile(_ revision: Int64, of key: SessionKey, now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key] else { return seeUnknown(revision, of: key, now) }
        guard entry.record.profileRevision != nil else { return [.publishSessionProfile(key)] }
        switch entry.profileTopic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publishSessionProfile(key)]
        case .revised:
            entry.record.profileRevision = entry.profileTopic.revision
            bump(&entry, now)
            store(entry, now)
            return [.save(key), .publishSessionProfile(key), .publishState(key), .publishCurrent(key.user)]
        }
    }

    /// Handles a revision of `workout` on the bus.
    mutating func seeWorkout(_ revision: Int64, of key: SessionKey, now: Moment) -> [SessionEngineAction] {
        guard var entry = entries[key] else { return seeUnknown(revision, of: key, now) }
        // A session that was deleted or is unfinished has no workout.
        guard entry.record.workout != nil else { return [.publishWorkout(key)] }
        switch entry.workoutTopic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publishWorkout(key)]
        case .revised:
            entry.record.workout?.revision = entry.workoutTopic.revision
            entry.record.publishedAt = now
            store(entry, now)
            return [.save(key), .publishWorkout(key)]
        }
    }

    /// The reaction to a topic of an unknown session: none may stay whose record is unreadable or that is older than the
    /// retention.
    private func seeUnknown(_ revision: Int64, of key: SessionKey, _ now: Moment) -> [SessionEngineAction] {
        let isForgotten = revision < (now - EngineSession.deletedRetention).wallClock.milliseconds
        return isForgotten || unreadable.contains(key) ? [.clear(key)] : []
    }

    /// Handles a revision of `current` on the bus. If the user has no data, it offers a session that does not exist.
    mutating func seeCurrent(_ revision: Int64, of user: User, now: Moment) -> [SessionEngineAction] {
        var topic = users[user]?.currentTopic ?? RetainedTopic()
        switch topic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publishCurrent(user)]
        case .revised:
            users[user, default: UserRecord()].currentTopic = topic
            return [.saveUser(user), .publishCurrent(user)]
        }
    }

    /// Handles a revision of `profile` on the bus.
    mutating func seeProfile(_ revision: Int64, of user: User, now: Moment) -> [SessionEngineAction] {
        guard var record = users[user], record.profileTopic.revision > 0 else { return [] }
        switch record.profileTopic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publishProfile(user)]
        case .revised:
            users[user] = record
            return [.saveUser(user), .publishProfile(user)]
        }
    }

    /// Handles a revision of `plans` on the bus.
    mutating func seePlans(_ revision: Int64, of user: User, now: Moment) -> [SessionEngineAction] {
        guard var record = users[user], record.plans != nil else { return [] }
        switch record.plansTopic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publishPlans(user)]
        case .revised:
            record.plans?.revision = record.plansTopic.revision
            users[user] = record
            return [.saveUser(user), .publishPlans(user)]
        }
    }

    /// Handles a revision of `signed-out` on the bus.
    mutating func seeSignedOut(_ revision: Int64, of user: User, now: Moment) -> [SessionEngineAction] {
        guard var record = users[user], record.signedOut != nil else { return [] }
        switch record.signedOutTopic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publishSignedOut(user)]
        case .revised:
            record.signedOut?.revise(record.signedOutTopic.revision)
            users[user] = record
            return [.saveUser(user), .publishSignedOut(user)]
        }
    }
}
