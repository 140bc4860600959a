import Bus
import MQTT
import ServiceKit
import Storage
import Workouts

/// An action of the machine.
enum VirtualRunAction: Hashable {
    case save(RunID)
    /// Writes the live curves of a run, for gaps after a restart.
    case saveCurves(RunID)
    /// Writes the final curve and the shared route of a runner.
    case saveFinal(RunID, Runner)
    /// Removes a run at rest from memory.
    case evict(RunID)
    /// Removes everything of a run.
    case erase(RunID)
    /// Writes a user's line in the list of runs, in the user's shard.
    case list(User, RunID)
    /// Removes it.
    case unlist(User, RunListing)
    case savePerson(User)
    case saveReply(Shard, User, CommandID)
    /// Removes replies of a user: the oldest, or all.
    case eraseReplies(Shard, User, [CommandID])
    /// A user's view of a run; an empty message if there is none any more.
    case publishView(RunID, User)
    case publishPeople(User)
    /// Writes the key that hides homes, drawn once.
    case saveKey([UInt8])
    /// Publishes a cue after the commit that says that it was given.
    case announce(RunID, User, Announcement)
    /// Replies to a user; without a client nothing reads it.
    case reply(Shard, User, Client?, Reply)
    /// Reads a page of a user's runs and replies.
    case listRuns(User, Command.Envelope, RunsQuery)
    /// Asks the owners of a session for its record and chunks.
    case request(RunID, SessionKey)
    /// Reports that the user sends too many requests.
    case limited(User)
}

extension VirtualRunAction: OwnedAction {
    var shard: Shard? {
        switch self {
        case .save(let run), .saveCurves(let run), .saveFinal(let run, _), .erase(let run), .publishView(let run, _),
            .evict(let run), .announce(let run, _, _), .request(let run, _):
            run.shard
        case .list(let user, _), .unlist(let user, _), .savePerson(let user), .publishPeople(let user),
            .listRuns(let user, _, _):
            user.shard
        case .reply(let shard, _, _, _), .saveReply(let shard, _, _), .eraseReplies(let shard, _, _): shard
        case .saveKey: RunRecord.hidingKey.shard
        case .limited: nil
        }
    }

    var urgency: Urgency {
        switch self {
        case .limited, .request: .now
        // Clients repeat their requests.
        case .reply, .listRuns: .dropIfRefused
        case .save, .saveCurves, .saveFinal, .erase, .list, .unlist, .savePerson, .saveReply, .eraseReplies,
            .publishView, .publishPeople, .announce, .evict, .saveKey:
            .afterCommit
        }
    }
}
