import Bus
import ServiceKit
import Storage
import Workouts

/// An effect that the machine requests.
enum SessionEngineAction: Hashable {
    case save(SessionKey)
    case saveReply(SessionKey, Reply)
    case saveUser(User)
    /// Erases the replies to a session's commands.
    case eraseReplies(SessionKey, Set<CommandID>)
    /// Erases the user's corrupt records, by their keys.
    case eraseCorrupt(User, [String])
    /// Moves a record that cannot be decoded out of its collection.
    case setAside(Shard, StoreCollection, key: String, value: [UInt8])
    /// Moves a session out of history, because it may change.
    case unarchive(SessionKey)
    /// Moves a session from memory to history and erases its replies.
    case archive(SessionKey)
    /// Removes a session from memory and store.
    case erase(SessionKey)
    case publishState(SessionKey)
    case publishWorkout(SessionKey)
    case publishCurrent(User)
    case publishProfile(User)
    case publishPlans(User)
    /// Asks an external coach about a change.
    case askCoach(SessionKey, CommandID)
    /// Clears `state` and `workout`.
    case clear(SessionKey)
    case announce(SessionKey, Announcement)
    case reply(User, Client, Reply)
    /// Reads a page of the user's history and replies to this request.
    case listWorkouts(User, UserRequest.Page)
}

extension SessionEngineAction: OwnedAction {
    var shard: Shard? {
        switch self {
        case .save(let key), .saveReply(let key, _), .eraseReplies(let key, _), .unarchive(let key), .archive(let key),
            .erase(let key), .publishState(let key), .publishWorkout(let key), .clear(let key), .announce(let key, _),
            .askCoach(let key, _):
            key.user.shard
        case .saveUser(let user), .eraseCorrupt(let user, _), .publishCurrent(let user), .publishProfile(let user),
            .publishPlans(let user), .reply(let user, _, _), .listWorkouts(let user, _):
            user.shard
        case .setAside(let shard, _, _, _): shard
        }
    }

    var urgency: Urgency {
        switch self {
        // Phases of a plan's clock, and questions to a coach, depend on nothing in the store.
        case .announce(_, let announcement) where announcement.type == .interval: .now
        case .askCoach: .now
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
        case .eraseReplies(let key, let ids):
            return ids.map { PendingWrite.delete(SessionRecord.replies, "\(key)/\($0)") }
        case .eraseCorrupt(_, let keys): return keys.map { PendingWrite.delete(SessionRecord.corrupt, $0) }
        case .setAside(_, let collection, let key, let value):
            let copy = PendingWrite(SessionRecord.corrupt, .put(key: "\(collection.name)/\(key)", value: value))
            return [copy, .delete(collection, key)]
        case .unarchive(let key):
            guard let record = entries[key]?.record else { return [] }
            return [.put(SessionRecord.sessions, key, record), .delete(SessionRecord.history, key)]
        case .archive(let key):
            guard let entry = entries[key] else { return [] }
            let replies = entry.replies.keys.map { PendingWrite.delete(SessionRecord.replies, "\(key)/\($0)") }
            return [.put(SessionRecord.history, key, entry.record), .delete(SessionRecord.sessions, key)] + replies
        case .erase(let key): return [.delete(SessionRecord.sessions, key)]
        case .publishState, .publishWorkout, .publishCurrent, .publishProfile, .publishPlans, .askCoach, .clear,
            .announce, .reply, .listWorkouts:
            return []
        }
    }

    mutating func drop(_ shards: Set<Shard>) {
        for key in entries.keys where shards.contains(key.user.shard) { forget(key) }
        for user in users.keys where shards.contains(user.shard) { users[user] = nil }
    }
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
