import Bus
import Workouts

/// The actions of the machine. Saves precede all messages: everything published or answered is on disk.
enum SessionEngineAction: Hashable {
    case save(SessionKey)
    case saveReply(SessionKey, Reply)
    case saveUser(User)
    /// Removes the replies to a session's commands.
    case eraseReplies(SessionKey, Set<CommandID>)
    /// Removes a user's corrupt records by their keys.
    case eraseCorrupt(User, [String])
    /// Moves a session out of history after a new event.
    case unarchive(SessionKey)
    /// Moves a session from memory into history and removes its replies.
    case archive(SessionKey)
    /// Removes a session from the store.
    case erase(SessionKey)
    case publishState(SessionKey)
    case publishWorkout(SessionKey)
    case publishCurrent(User)
    case publishProfile(User)
    case publishPlans(User)
    /// Asks an external coach about a change.
    case askCoach(SessionKey, CommandID)
    /// Clears `state` and `workout` on the broker.
    case clear(SessionKey)
    case announce(SessionKey, Announcement)
    case reply(User, Client, Reply)
    /// Reads a page of the user's history for a request.
    case listWorkouts(User, UserRequest.Page)
}

extension SessionEngineAction {
    /// The user of the action.
    var user: User {
        switch self {
        case .save(let key), .saveReply(let key, _), .eraseReplies(let key, _), .unarchive(let key), .archive(let key),
            .erase(let key),
            .publishState(let key), .publishWorkout(let key), .clear(let key), .announce(let key, _),
            .askCoach(let key, _):
            key.user
        case .saveUser(let user), .eraseCorrupt(let user, _), .publishCurrent(let user), .publishProfile(let user),
            .publishPlans(let user),
            .reply(let user, _, _),
            .listWorkouts(let user, _):
            user
        }
    }
}

/// A pending question to an external coach, and the commands that wait for the answer.
struct CoachQuestion {
    /// The timeout in seconds of the service's clock.
    static let patience = 3.0
    /// The maximum number of waiting commands. Clients repeat the others.
    static let waitingLimit = 16

    let command: Command
    var request: CoachRequest
    /// `suspend` and all later commands, each with the time of its event.
    var waiting: [Command] = []

    func holds(_ id: CommandID) -> Bool { command.id == id || waiting.contains { $0.id == id } }
}
