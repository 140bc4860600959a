import Bus
import MQTT
import ServiceKit
import Storage
import Workouts

/// An effect that the machine requests.
enum SessionEngineAction: Hashable {
    case save(SessionKey)
    case saveReply(SessionKey, Reply)
    case saveUser(User)
    case saveQuota(User)
    /// Erases the replies to a session's commands.
    case eraseReplies(SessionKey)
    /// Erases the user's corrupt records.
    case eraseCorrupt(User)
    /// Moves a record that cannot be decoded out of its collection.
    case setAside(Shard, StoreCollection, key: String, value: [UInt8])
    /// Moves a session out of history, because it may change.
    case unarchive(SessionKey)
    /// Moves a session from memory to history and erases its replies.
    case archive(SessionKey)
    /// Removes a session from memory and store.
    case erase(SessionKey)
    /// Moves a session from memory to history until its topics are cleared, unless it has changed meanwhile.
    case rest(SessionKey)
    /// Clears the topics of a session in history and removes it if it was deleted.
    case expire(SessionKey, isDeleted: Bool)
    /// Removes an entry of ``SessionRecord/due`` that has been handled.
    case settle(SessionKey, String)
    /// Writes the line of a finished workout in the user's history, and its latest change.
    case list(SessionKey)
    /// Writes the deletion of a workout among the user's changes.
    case listDeleted(SessionKey)
    /// Removes an older change of a workout, or a tombstone.
    case unlistChange(SessionKey, Int64)
    case unlist(SessionKey, HistoryPlace)
    case unlistAll(User)
    case publishState(SessionKey)
    /// Publishes the session's copy of the profile, or clears it if the session has none.
    case publishSessionProfile(SessionKey)
    case publishWorkout(SessionKey)
    case publishCurrent(User)
    case publishProfile(User)
    case publishPlans(User)
    case publishSignedOut(User)
    /// Asks an external coach about a change.
    case askCoach(SessionKey, CommandID)
    /// Clears `state`, `profile` and `workout`.
    case clear(SessionKey)
    case announce(SessionKey, Announcement)
    /// Replies to a user; without a client nothing reads it.
    case reply(User, Client?, Reply)
    /// Reads a page of the user's history and replies to this request.
    case listWorkouts(User, HistoryPage)
    /// Reports a limit that the user reached.
    case limited(User, UserLimit)
}

extension SessionEngineAction: OwnedAction {
    var shard: Shard? {
        switch self {
        case .save(let key), .saveReply(let key, _), .eraseReplies(let key), .unarchive(let key), .archive(let key),
            .erase(let key), .rest(let key), .expire(let key, _), .settle(let key, _), .list(let key),
            .listDeleted(let key), .unlistChange(let key, _), .unlist(let key, _), .publishState(let key),
            .publishSessionProfile(let key), .publishWorkout(let key),
            .clear(let key), .announce(let key, _), .askCoach(let key, _):
            key.user.shard
        case .saveUser(let user), .saveQuota(let user), .eraseCorrupt(let user), .unlistAll(let user),
            .publishCurrent(let user), .publishProfile(let user), .publishPlans(let user), .publishSignedOut(let user),
            .reply(let user, _, _),
            .listWorkouts(let user, _), .limited(let user, _):
            user.shard
        case .setAside(let shard, _, _, _): shard
        }
    }

    var urgency: Urgency {
        switch self {
        // Phases of a plan's clock, and questions to a coach, depend on nothing in the store.
        case .announce(_, let announcement) where announcement.kind == .interval: .now
        case .askCoach, .limited: .now
        // Clients repeat their commands and requests.
        case .reply, .announce, .listWorkouts: .dropIfRefused
        default: .afterCommit
        }
    }
}

extension SessionEngineMachine: OwningMachine {
    func writes(for action: SessionEngineAction) -> [PendingWrite] {
        switch action {
        case .save(let key): return entries[key].map { [.put(SessionRecord.sessions, key, $0.record)] } ?? []
        case .saveReply(let key, let reply): return [.put(SessionRecord.replies, "\(key)/\(reply.id)", reply)]
        case .saveUser(let user): return users[user].map { [.put(SessionRecord.users, user, $0)] } ?? []
        case .saveQuota(let user): return quotas[user].map { [.put(SessionRecord.quotas, user, $0)] } ?? []
        case .eraseReplies(let key): return [.deleteFolder(SessionRecord.replies, key)]
        case .eraseCorrupt(let user):
            let collections = [
                SessionRecord.sessions, SessionRecord.history, SessionRecord.replies, SessionRecord.overviews,
                SessionRecord.changes,
            ]
            return collections.map { .deleteFolder(SessionRecord.corrupt, "\($0.name)/\(user)") }
                + [SessionRecord.users, SessionRecord.quotas].map {
                    .delete(SessionRecord.corrupt, "\($0.name)/\(user)")
                }
        case .setAside(_, let collection, let key, let value):
            let copy = PendingWrite(SessionRecord.corrupt, .put(key: "\(collection.name)/\(key)", value: value))
            return [copy, .delete(collection, key)]
        case .unarchive(let key):
            guard let record = entries[key]?.record else { return [] }
            return [.put(SessionRecord.sessions, key, record), .delete(SessionRecord.history, key)]
        case .archive(let key):
            guard let entry = entries[key] else { return [] }
            return [
                .put(SessionRecord.history, key, entry.record), .delete(SessionRecord.sessions, key),
                .deleteFolder(SessionRecord.replies, key),
            ]
        case .rest(let key):
            guard let entry = entries[key], entry.canRest, let goneAt = table.goneAt(entry) else { return [] }
            return [
                .put(SessionRecord.history, key, entry.record), .delete(SessionRecord.sessions, key),
                PendingWrite(SessionRecord.due, .put(key: SessionRecord.dueKey(goneAt.wallClock, key), value: [])),
            ]
        case .expire(let key, let isDeleted):
            let replies = PendingWrite.deleteFolder(SessionRecord.replies, key)
            return isDeleted ? [replies, .delete(SessionRecord.history, key)] : [replies]
        case .settle(_, let due): return [.delete(SessionRecord.due, due)]
        case .list(let key):
            guard let record = entries[key]?.record, let changed = record.changed,
                let workout = record.workout.map({ WorkoutOverview($0, changed: changed, edit: record.finishedEdit) })
            else { return [] }
            return [
                .put(SessionRecord.overviews, SessionRecord.overviewKey(key.user, workout.place), workout),
                .put(
                    SessionRecord.changes, SessionRecord.changeKey(key.user, changed), WorkoutChange.workout(workout)),
            ]
        case .listDeleted(let key):
            guard let record = entries[key]?.record, record.workout == nil, let changed = record.changed else {
                return []
            }
            return [
                .put(
                    SessionRecord.changes, SessionRecord.changeKey(key.user, changed),
                    WorkoutChange.deleted(key.session, changed: changed))
            ]
        case .unlistChange(let key, let changed):
            return [.delete(SessionRecord.changes, SessionRecord.changeKey(key.user, changed))]
        case .unlist(let key, let place):
            return [.delete(SessionRecord.overviews, SessionRecord.overviewKey(key.user, place))]
        case .unlistAll(let user):
            return [.deleteFolder(SessionRecord.overviews, user), .deleteFolder(SessionRecord.changes, user)]
        case .erase(let key):
            var quota = quotas[key.user] ?? UserQuota()
            quota.erase()
            return [.delete(SessionRecord.sessions, key), .put(SessionRecord.quotas, key.user, quota)]
        case .publishState, .publishSessionProfile, .publishWorkout, .publishCurrent, .publishProfile, .publishPlans,
            .publishSignedOut, .askCoach, .clear, .announce, .reply, .listWorkouts, .limited:
            return []
        }
    }

    /// The messages of a publishing action as of now.
    mutating func messages(for action: SessionEngineAction) -> [MQTTMessage] {
        switch action {
        case .publishState(let key):
            guard let entry = entries[key], !entry.isWithheld else { return [] }
            table.published(entry.record.revision, of: key, \.stateTopic)
            let state = PublishedState(entry.record.state, entry.record.planState)
            return [Topic.session(key, .state).message(JSONCoding.encode(state))]
        case .publishSessionProfile(let key):
            guard let entry = entries[key] else { return [] }
            let session = entry.record.session
            guard let revision = entry.record.profileRevision else {
                return [Topic.session(key, .profile).message([])]
            }
            table.published(revision, of: key, \.profileTopic)
            var copy = SessionProfile(revision: revision, profile: session.editedProfile ?? Profile())
            copy.edit = session.edit
            copy.recorded = session.edit.map { _ in session.recordedWorkout }
            return [Topic.session(key, .profile).message(JSONCoding.encode(copy))]
        case .publishWorkout(let key):
            guard let entry = entries[key] else { return [] }
            guard let workout = entry.record.workout else { return [Topic.session(key, .workout).message([])] }
            table.published(workout.revision, of: key, \.workoutTopic)
            return [Topic.session(key, .workout).message(JSONCoding.encode(workout))]
        case .publishCurrent(let user):
            let record = offered(user)
            let current = CurrentSession(
                revision: currentRevision(user), state: record?.state, plan: record?.planState)
            users[user]?.currentTopic?.published(current.revision)
            return [Topic.user(user, .current).message(JSONCoding.encode(current))]
        case .publishProfile(let user):
            guard let record = users[user] else { return [] }
            users[user]?.profileTopic.published(record.profileTopic.revision)
            let profile = UserProfile(
                revision: record.profileTopic.revision, profile: record.profile, erasedAt: record.erasedAt)
            return [Topic.user(user, .profile).message(JSONCoding.encode(profile))]
        case .publishPlans(let user):
            guard let plans = users[user]?.plans else { return [] }
            users[user]?.plansTopic.published(plans.revision)
            return [Topic.user(user, .plans).message(JSONCoding.encode(plans))]
        case .publishSignedOut(let user):
            guard let signedOut = users[user]?.signedOut else { return [] }
            users[user]?.signedOutTopic.published(signedOut.revision)
            return [Topic.user(user, .signedOut).message(JSONCoding.encode(signedOut))]
        case .askCoach(let key, let id):
            guard let question = entries[key]?.question, question.command.id == id else { return [] }
            return [Topic.user(key.user, .coachRequest).message(JSONCoding.encode(question.request))]
        case .clear(let key), .expire(let key, _):
            return [SessionTopic.state, .profile, .workout].map { Topic.session(key, $0).message([]) }
        case .announce(let key, let announcement):
            return [Topic.session(key, .announcements).message(JSONCoding.encode(announcement))]
        case .reply(let user, let client, let reply): return reply.messages(to: user, client)
        case .archive(let key):
            table.forget(key)
            return []
        case .erase(let key):
            quotas[key.user]?.erase()
            table.forget(key)
            return []
        case .rest(let key):
            if entries[key]?.canRest == true { table.forget(key) }
            return []
        case .save, .saveReply, .saveUser, .saveQuota, .eraseReplies, .eraseCorrupt, .setAside, .unarchive, .list,
            .listDeleted, .unlistChange, .unlist, .unlistAll, .settle, .listWorkouts, .limited:
            return []
        }
    }

    mutating func drop(_ shards: Set<Shard>) {
        for key in entries.keys where shards.contains(key.user.shard) { table.forget(key) }
        forgetUnreadable { shards.contains($0.user.shard) }
        for user in users.keys where shards.contains(user.shard) { users[user] = nil }
        for user in quotas.keys where shards.contains(user.shard) { quotas[user] = nil }
    }
}

/// A requested page of a user's history, or of its changes.
struct HistoryPage: Hashable {
    /// The user or a viewer of the user, whose client reads the reply.
    let reader: User
    let envelope: Command.Envelope
    let query: HistoryRequest
}

/// A pending question to an external coach, and the commands that wait for the answer.
struct CoachQuestion {
    /// The coach's timeout, in seconds.
    static let timeout = 3.0
    /// The maximum number of waiting commands. Clients repeat the others.
    static let waitingLimit = 16

    let command: Command
    let request: CoachRequest
    let answerBy: Moment
    /// `suspend` and all later commands, each with the time of its event.
    var waiting: [Command] = []

    func holds(_ id: CommandID) -> Bool { command.id == id || waiting.contains { $0.id == id } }
}
