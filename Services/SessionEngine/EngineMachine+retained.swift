import Bus
import MQTT
import ServiceKit
import Workouts

/// The broker may forget everything or bring the past back: the owner says what counts.
extension EngineMachine {
    /// A new connection: everything retained is published again, live sessions first.
    mutating func connected(now: Timestamp) -> [EngineAction] {
        connectedAt = now
        routeBuilders = []
        forgetEchoes()
        // From now on there is something to hear of them.
        for (key, entry) in entries {
            if let due = due(entry) { deadlines.ask(key, at: due) }
        }
        let keys = entries.keys.sorted { left, right in
            (isLive(left) ? 0 : 1, left) < (isLive(right) ? 0 : 1, right)
        }
        let sessions = keys.flatMap { key -> [EngineAction] in
            entries[key]?.record.workout == nil ? [.publishState(key)] : [.publishState(key), .publishWorkout(key)]
        }
        let known = users.sorted { $0.key < $1.key }
        let current = known.filter { $0.value.current != nil }.map { EngineAction.publishCurrent($0.key) }
        let profiles = known.filter { $0.value.revision > 0 }.map { EngineAction.publishProfile($0.key) }
        let plans = known.filter { $0.value.plans != nil }.map { EngineAction.publishPlans($0.key) }
        return sessions + current + profiles + plans
    }

    /// Nothing can be heard of anybody: until the next connection nothing is given up for having been silent.
    mutating func disconnected() {
        connectedAt = nil
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
            note(entry.record.revision, of: key, \.state)
            let state = PublishedState(entry.record.state, entry.record.planState)
            return [Topic.session(key, .state).message(JSONCoding.encode(state))]
        case .publishWorkout(let key):
            guard let entry = entries[key] else { return [] }
            guard let workout = entry.record.workout else { return [Topic.session(key, .workout).message([])] }
            note(workout.revision, of: key, \.workout)
            return [Topic.session(key, .workout).message(JSONCoding.encode(workout))]
        case .publishCurrent(let user):
            let record = unfinished(user)
            let current = CurrentSession(
                revision: currentRevision(user), state: record?.state, plan: record?.planState)
            userEchoes[user, default: UserEchoes()].current.insert(current.revision)
            return [Topic.user(user, .current).message(JSONCoding.encode(current))]
        case .publishProfile(let user):
            guard let record = users[user] else { return [] }
            userEchoes[user, default: UserEchoes()].profile.insert(record.revision)
            let profile = UserProfile(revision: record.revision, profile: record.profile)
            return [Topic.user(user, .profile).message(JSONCoding.encode(profile))]
        case .publishPlans(let user):
            guard let plans = users[user]?.plans else { return [] }
            userEchoes[user, default: UserEchoes()].plans.insert(plans.revision)
            return [Topic.user(user, .plans).message(JSONCoding.encode(plans))]
        case .askCoach(let key, let id):
            guard let question = entries[key]?.question, question.command.id == id else { return [] }
            return [Topic.user(key.user, .coachRequest).message(JSONCoding.encode(question.request))]
        case .clear(let key):
            return [Topic.session(key, .state).message([]), Topic.session(key, .workout).message([])]
        case .announce(let key, let announcement):
            return [Topic.session(key, .announcements).message(JSONCoding.encode(announcement))]
        case .reply(let user, let client, let reply):
            return [Topic.user(user, .replies(client)).message(JSONCoding.encode(reply))]
        case .save, .saveReply, .saveUser, .eraseReplies, .eraseCorrupt, .unarchive, .archive, .erase, .listWorkouts:
            return []
        }
    }

    /// A revision of `state` that stands on the bus.
    mutating func seeState(_ revision: Int64, of key: SessionKey, now: Timestamp) -> [EngineAction] {
        guard var entry = entries[key] else { return isForgotten(revision, now) ? [.clear(key)] : [] }
        switch RetainedRevision(revision, newest: entry.record.revision, published: entry.echoes.state) {
        case .known: return []
        case .outdated: return [.publishState(key)]
        case .ahead:
            entry.record.revision = revision
            bump(&entry.record, now)
            store(entry, key)
            return [.save(key), .publishState(key), .publishCurrent(key.user)]
        }
    }

    /// A revision of `workout` that stands on the bus.
    mutating func seeWorkout(_ revision: Int64, of key: SessionKey, now: Timestamp) -> [EngineAction] {
        guard var entry = entries[key] else { return isForgotten(revision, now) ? [.clear(key)] : [] }
        // One that was deleted, or is not finished: there is to be none.
        guard let workout = entry.record.workout else { return [.publishWorkout(key)] }
        switch RetainedRevision(revision, newest: workout.revision, published: entry.echoes.workout) {
        case .known: return []
        case .outdated: return [.publishWorkout(key)]
        case .ahead:
            entry.record.workout?.revision = max(revision + 1, now.milliseconds)
            entry.record.publishedAt = now
            store(entry, key)
            return [.save(key), .publishWorkout(key)]
        }
    }

    /// Whether a session that is not known left the bus so long ago that nobody remembers.
    private func isForgotten(_ revision: Int64, _ now: Timestamp) -> Bool {
        revision < (now - Self.deletedRetention).milliseconds
    }

    /// A revision of `current` that stands on the bus; of a user of whom nothing is left it offers what nobody has.
    mutating func seeCurrent(_ revision: Int64, of user: User, now: Timestamp) -> [EngineAction] {
        let newest = currentRevision(user)
        let published = userEchoes[user]?.current ?? PublishedRevisions()
        switch RetainedRevision(revision, newest: newest, published: published) {
        case .known: return []
        case .outdated: return [.publishCurrent(user)]
        case .ahead:
            users[user, default: UserRecord()].raise(to: max(revision + 1, now.milliseconds))
            return [.saveUser(user), .publishCurrent(user)]
        }
    }

    /// A revision of `profile` that stands on the bus.
    mutating func seeProfile(_ revision: Int64, of user: User, now: Timestamp) -> [EngineAction] {
        guard let record = users[user], record.revision > 0 else { return [] }
        let published = userEchoes[user]?.profile ?? PublishedRevisions()
        switch RetainedRevision(revision, newest: record.revision, published: published) {
        case .known: return []
        case .outdated: return [.publishProfile(user)]
        case .ahead:
            users[user]?.revision = max(revision + 1, now.milliseconds)
            return [.saveUser(user), .publishProfile(user)]
        }
    }

    /// A revision of `plans` that stands on the bus.
    mutating func seePlans(_ revision: Int64, of user: User, now: Timestamp) -> [EngineAction] {
        guard let plans = users[user]?.plans else { return [] }
        let published = userEchoes[user]?.plans ?? PublishedRevisions()
        switch RetainedRevision(revision, newest: plans.revision, published: published) {
        case .known: return []
        case .outdated: return [.publishPlans(user)]
        case .ahead:
            users[user]?.plans?.revision = max(revision + 1, now.milliseconds)
            return [.saveUser(user), .publishPlans(user)]
        }
    }
}
