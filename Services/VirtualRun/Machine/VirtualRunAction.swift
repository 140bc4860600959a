import Bus
import MQTT
import ServiceKit
import Storage
import Workouts

/// An action of the machine.
enum VirtualRunAction: Hashable {
    case save(RunID)
    /// Writes what the figures of a run need after a restart.
    case saveLive(RunID)
    /// Writes the live curves of a run, for gaps after a restart.
    case saveCurves(RunID)
    /// Writes the final curve and the shared route of a runner.
    case saveFinal(RunID, Runner)
    /// Removes a run at rest from memory.
    case evict(RunID)
    /// Removes everything of a run.
    case erase(RunID)
    /// Writes a user's line in the list of runs.
    case list(User, RunID)
    /// Removes it.
    case unlist(User, RunListing)
    /// Writes or removes what a run counts for in a user's limits.
    case savePart(User, RunID)
    /// Writes that a session runs along in a run.
    case linkGhost(SessionKey, RunID)
    /// Removes that.
    case unlinkGhost(SessionKey, RunID)
    /// Writes or removes how many invitations a user sent for the runs of a shard.
    case saveInvitations(Shard, User)
    /// Leaves a contact to the owner of the user's shard.
    case saveMeeting(User, RunMeeting)
    /// Removes what ``saveMeeting(_:_:)`` wrote for a run, or for one user of it.
    case eraseMeetings(RunID, User?)
    /// Writes or removes when a deletion cleared a user's `partners`.
    case saveCleared(RunID, User)
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
        case .save(let run), .saveLive(let run), .saveCurves(let run), .saveFinal(let run, _), .erase(let run),
            .publishView(let run, _),
            .evict(let run), .announce(let run, _, _), .request(let run, _), .list(_, let run), .savePart(_, let run),
            .linkGhost(_, let run), .unlinkGhost(_, let run), .saveCleared(let run, _),
            .eraseMeetings(let run, _):
            run.shard
        case .unlist(_, let listing): listing.overview.run.shard
        case .saveMeeting(_, let meeting): meeting.run.shard
        case .saveInvitations(let shard, _): shard
        case .savePerson(let user), .publishPeople(let user), .listRuns(let user, _, _): user.shard
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
        case .save, .saveLive, .saveCurves, .saveFinal, .erase, .list, .unlist, .savePart, .saveInvitations,
            .saveMeeting, .eraseMeetings, .saveCleared, .savePerson, .saveReply, .eraseReplies,
            .publishView,
            .publishPeople,
            .announce, .evict, .saveKey, .linkGhost, .unlinkGhost:
            .afterCommit
        }
    }
}

extension VirtualRunMachine: OwningMachine {
    func writes(for action: VirtualRunAction) -> [PendingWrite] {
        switch action {
        case .save(let id):
            guard let entry = entries[id] else { return [] }
            return [.put(RunRecord.runs, id, entry.record)]
        case .saveLive(let id):
            guard let entry = entries[id] else { return [] }
            return [.put(RunRecord.live, id, entry.live.stored)]
        case .saveCurves(let id):
            guard let entry = entries[id] else { return [] }
            return [.put(RunRecord.curves, id, entry.live.curves)]
        case .saveFinal(let id, let runner):
            let key = "\(id)/\(runner)"
            guard let final = entries[id]?.finals[runner] else { return [.delete(RunRecord.finals, key)] }
            return [.put(RunRecord.finals, key, final)]
        case .erase(let id):
            guard entries[id] == nil else { return [] }
            return [
                .delete(RunRecord.runs, id), .delete(RunRecord.live, id), .delete(RunRecord.curves, id),
                .deleteFolder(RunRecord.finals, id), .deleteFolder(RunRecord.meetings, id),
            ]
        case .list(let user, let id):
            guard let listing = entries[id]?.listings[user] else { return [] }
            return [.put(RunRecord.listings, listing.key(user), listing)]
        case .unlist(let user, let listing): return [.delete(RunRecord.listings, listing.key(user))]
        case .savePart(let user, let id):
            let key = "\(user)/\(id)"
            guard let part = entries[id]?.parts[user] else { return [.delete(RunRecord.parts, key)] }
            return [.put(RunRecord.parts, key, part)]
        case .saveInvitations(let shard, let user):
            guard let tally = invitations.tally(of: user, in: shard) else {
                return [.delete(RunRecord.invitations, user)]
            }
            return [.put(RunRecord.invitations, user, tally)]
        case .saveMeeting(let user, let meeting):
            return [.put(RunRecord.meetings, "\(meeting.run)/\(user)/\(meeting.user)", meeting.at)]
        case .eraseMeetings(let id, nil): return [.deleteFolder(RunRecord.meetings, id)]
        case .eraseMeetings(let id, let user?):
            let others = entries[id]?.run.participants.map(\.user) ?? []
            return [.deleteFolder(RunRecord.meetings, "\(id)/\(user)")]
                + others.map { .delete(RunRecord.meetings, "\(id)/\($0)/\(user)") }
        case .saveCleared(let id, let user):
            let key = "\(id)/\(user)"
            guard let moment = cleared.time(of: user, in: id) else { return [.delete(RunRecord.cleared, key)] }
            return [.put(RunRecord.cleared, key, moment)]
        case .linkGhost(let key, let id): return [.put(RunRecord.ghosts, "\(key)/\(id)", true)]
        case .unlinkGhost(let key, let id): return [.delete(RunRecord.ghosts, "\(key)/\(id)")]
        case .savePerson(let user):
            guard let person = people[user] else { return [] }
            return [.put(RunRecord.people, user, person)]
        case .saveReply(_, let user, let id):
            guard let reply = replies.reply(to: id, of: user) else { return [] }
            return [.put(RunRecord.replies, "\(user)/\(id)", reply)]
        case .eraseReplies(_, let user, let ids): return ids.map { .delete(RunRecord.replies, "\(user)/\($0)") }
        case .saveKey(let bytes):
            return [PendingWrite(RunRecord.keys, .put(key: RunRecord.hidingKey.key, value: bytes))]
        case .publishView, .publishPeople, .announce, .reply, .listRuns, .request, .limited, .evict: return []
        }
    }

    mutating func messages(for action: VirtualRunAction) -> [MQTTMessage] {
        switch action {
        case .publishView(let id, let user): return [viewMessage(id, user)]
        case .publishPeople(let user): return [peopleMessage(user)]
        case .announce(let id, let user, let cue):
            return [Topic.user(user, .virtualRunAnnouncements(id)).message(JSONCoding.encode(cue))]
        case .reply(_, let user, let client, let reply): return reply.messages(to: user, client)
        case .evict(let id):
            if let entry = entries[id], isAtRest(entry) { evict(id) }
            return []
        case .save, .saveLive, .saveCurves, .saveFinal, .erase, .list, .unlist, .savePart, .saveInvitations,
            .saveMeeting, .eraseMeetings, .saveCleared, .savePerson, .saveReply, .eraseReplies,
            .saveKey,
            .linkGhost,
            .unlinkGhost, .listRuns, .request, .limited:
            return []
        }
    }

    mutating func drop(_ shards: Set<Shard>) {
        for id in entries.keys where shards.contains(id.shard) { evict(id) }
        creations = creations.filter { !shards.contains($0.key.shard) }
        people = people.filter { !shards.contains($0.key.shard) }
        cleared.drop(shards)
        invitations.drop(shards)
        replies.drop(shards)
        feed.drop(shards)
        others.shards.formUnion(shards)
    }
}
