import Bus
import Workouts

/// What the machine wants done. Saves come before everything that is sent: nothing is published or answered that is not
/// on disk.
enum SessionEngineAction: Hashable {
    case save(SessionKey)
    case saveReply(SessionKey, Reply)
    case saveUser(User)
    /// The replies to a session's commands go.
    case eraseReplies(SessionKey, Set<CommandID>)
    /// What was set aside of a user goes, by its keys.
    case eraseCorrupt(User, [String])
    /// Out of history, for something happened to it.
    case unarchive(SessionKey)
    /// Out of memory and into history, its replies forgotten.
    case archive(SessionKey)
    /// Out of the store altogether.
    case erase(SessionKey)
    case publishState(SessionKey)
    case publishWorkout(SessionKey)
    case publishCurrent(User)
    case publishProfile(User)
    case publishPlans(User)
    /// A change is asked of an outside coach.
    case askCoach(SessionKey, CommandID)
    /// Takes `state` and `workout` off the broker.
    case clear(SessionKey)
    case announce(SessionKey, Announcement)
    case reply(User, Client, Reply)
    /// A page of the user's history is to be read for this request.
    case listWorkouts(User, UserRequest.Page)
}

extension SessionEngineAction {
    /// Whose it is.
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

/// A change that an outside coach is asked about, and what has to wait for the answer.
struct CoachQuestion {
    /// Seconds of the service's clock until nothing is awaited any more.
    static let patience = 3.0
    /// Commands that wait; of more, the clients repeat them.
    static let waitingLimit = 16

    let command: Command
    var request: CoachRequest
    /// `suspend`, and whatever came after it, each with the time at which it happened.
    var waiting: [Command] = []

    func holds(_ id: CommandID) -> Bool { command.id == id || waiting.contains { $0.id == id } }
}
