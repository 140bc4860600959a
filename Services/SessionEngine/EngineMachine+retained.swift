import Bus
import MQTT
import Workouts

/// The broker may forget everything or bring the past back: the owner says what counts.
extension EngineMachine {
    /// A new connection: everything retained is published again, live sessions first.
    mutating func connected(now: Timestamp) -> [EngineAction] {
        connectedAt = now
        for key in entries.keys { entries[key]?.echoes = Echoes() }
        userEchoes = [:]
        let keys = entries.keys.sorted { left, right in
            (isLive(left) ? 0 : 1, left) < (isLive(right) ? 0 : 1, right)
        }
        let sessions = keys.flatMap { key -> [EngineAction] in
            entries[key]?.record.workout == nil ? [.publishState(key)] : [.publishState(key), .publishWorkout(key)]
        }
        let profiles = users.keys.sorted().map(EngineAction.publishProfile)
        return sessions + Set(keys.map(\.user)).sorted().map(EngineAction.publishCurrent) + profiles
    }

    private func isLive(_ key: SessionKey) -> Bool {
        guard let session = entries[key]?.record.session else { return false }
        return session.isUnfinished || session.statusName == .saving
    }

    /// The messages that a publishing action stands for, as of now.
    mutating func messages(for action: EngineAction) -> [MQTTMessage] {
        switch action {
        case .publishState(let key):
            guard let entry = entries[key] else { return [] }
            entries[key]?.echoes.state = entry.echoes.state ?? entry.record.revision
            return [Topic.session(key, .state).message(JSONCoding.encode(entry.record.state))]
        case .publishWorkout(let key):
            guard let entry = entries[key] else { return [] }
            guard let workout = entry.record.workout else { return [Topic.session(key, .workout).message([])] }
            entries[key]?.echoes.workout = entry.echoes.workout ?? workout.revision
            return [Topic.session(key, .workout).message(JSONCoding.encode(workout))]
        case .publishCurrent(let user):
            let current = CurrentSession(revision: currentRevision(user), state: unfinished(user)?.state)
            userEchoes[user, default: UserEchoes()].current = userEchoes[user]?.current ?? current.revision
            return [Topic.user(user, .current).message(JSONCoding.encode(current))]
        case .publishProfile(let user):
            guard let record = users[user] else { return [] }
            userEchoes[user, default: UserEchoes()].profile = userEchoes[user]?.profile ?? record.revision
            let profile = UserProfile(revision: record.revision, profile: record.profile)
            return [Topic.user(user, .profile).message(JSONCoding.encode(profile))]
        case .clear(let key):
            return [Topic.session(key, .state).message([]), Topic.session(key, .workout).message([])]
        case .announce(let key, let announcement):
            return [Topic.session(key, .announcements).message(JSONCoding.encode(announcement))]
        case .reply(let user, let client, let reply):
            return [Topic.user(user, .replies(client)).message(JSONCoding.encode(reply))]
        case .save, .saveReply, .saveUser, .unarchive, .archive, .erase, .listWorkouts: return []
        }
    }

    /// A revision of `state` that stands on the bus.
    mutating func seeState(_ revision: Int64, of key: SessionKey, now: Timestamp) -> [EngineAction] {
        guard var record = entries[key]?.record else { return [] }
        let echo = entries[key]?.echoes.state
        switch RetainedRevision(revision, newest: record.revision, publishedFrom: echo) {
        case .known: return []
        case .outdated: return [.publishState(key)]
        case .ahead:
            record.revision = revision
            bump(&record, now)
            entries[key]?.record = record
            return [.save(key), .publishState(key), .publishCurrent(key.user)]
        }
    }

    /// A revision of `workout` that stands on the bus.
    mutating func seeWorkout(_ revision: Int64, of key: SessionKey, now: Timestamp) -> [EngineAction] {
        guard let workout = entries[key]?.record.workout else { return [] }
        let echo = entries[key]?.echoes.workout
        switch RetainedRevision(revision, newest: workout.revision, publishedFrom: echo) {
        case .known: return []
        case .outdated: return [.publishWorkout(key)]
        case .ahead:
            entries[key]?.record.workout?.revision = max(revision + 1, now.milliseconds)
            return [.save(key), .publishWorkout(key)]
        }
    }

    /// A revision of `current` that stands on the bus. It follows from those of the user's sessions.
    mutating func seeCurrent(_ revision: Int64, of user: User, now: Timestamp) -> [EngineAction] {
        let newest = currentRevision(user)
        switch RetainedRevision(revision, newest: newest, publishedFrom: userEchoes[user]?.current) {
        case .known: return []
        case .outdated: return [.publishCurrent(user)]
        case .ahead:
            guard let key = entries.first(where: { $0.key.user == user && $0.value.record.revision == newest })?.key
            else { return [] }
            return seeState(revision, of: key, now: now)
        }
    }

    /// A revision of `profile` that stands on the bus.
    mutating func seeProfile(_ revision: Int64, of user: User, now: Timestamp) -> [EngineAction] {
        guard let record = users[user] else { return [] }
        let echo = userEchoes[user]?.profile
        switch RetainedRevision(revision, newest: record.revision, publishedFrom: echo) {
        case .known: return []
        case .outdated: return [.publishProfile(user)]
        case .ahead:
            users[user]?.revision = max(revision + 1, now.milliseconds)
            return [.saveUser(user), .publishProfile(user)]
        }
    }
}
