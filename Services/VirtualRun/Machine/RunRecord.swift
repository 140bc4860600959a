import Bus
import ServiceKit
import Storage
import Workouts

/// The stored record of a run.
struct RunRecord: Codable, Equatable, Sendable {
    /// Seconds from the end of a run until its data are removed.
    static let lifetime = 400 * 86_400.0

    /// A participant's published view.
    struct View: Codable, Equatable, Sendable {
        var topic = RetainedTopic()
        /// Of the view's content: a view whose content is another one needs a revision.
        var digest: UInt64 = 0
        /// When the revision was made.
        var at: Moment
        /// The topic is empty.
        var isCleared = false
    }

    var run: Run
    var views: [User: View] = [:]
    /// What results need of the newest record of each session, by participant.
    var workouts: [User: [RunWorkout]] = [:]

    init(_ run: Run) {
        self.run = run
    }

    /// Limits moments that were stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        run.limit(to: now)
        for (user, view) in views { views[user]?.at = view.at.atMost(now) }
    }

    /// Keeps the facts of a session's newest record. Returns whether they are new.
    mutating func keep(_ workout: RunWorkout, of user: User) -> Bool {
        var known = workouts[user] ?? []
        if let index = known.firstIndex(where: { $0.session == workout.session }) {
            guard workout.revision > known[index].revision else { return false }
            // Results are those of the recording, unless an edit came before it.
            guard workout.edited != true || known[index].edited == true else { return false }
            known.remove(at: index)
        }
        workouts[user] = (known + [workout]).suffix(RunParticipant.Entry.sessionLimit)
        return true
    }

    /// The record of the session that counts.
    func workout(of participant: RunParticipant) -> RunWorkout? {
        workouts[participant.user]?.first { $0.session == participant.session?.session }
    }
}

/// What is stored of a runner's final rows.
struct FinalRecord: Codable, Equatable, Sendable {
    var session: SessionID
    /// The revisions of the summaries to which the rows belong.
    var summaries: [String: Int64]
    /// `nil` without a measured distance.
    var curve: RunCurve?
    /// `nil` without positions.
    var route: RunnerRoute?
}

/// A user's line in the list of runs.
struct RunListing: Codable, Hashable, Sendable {
    var overview: RunOverview
    /// The user's sessions of the run, and the sessions of the user's ghosts in it.
    var sessions: [SessionID]

    /// The newest run first in a descending range.
    func key(_ user: User) -> String { Self.key(user, overview.createdAt, overview.run) }

    static func key(_ user: User, _ time: Timestamp, _ run: RunID) -> String { "\(user)/\(text(time))/\(run)" }

    /// 16 hex digits, in the order of the times since 1970.
    static func text(_ time: Timestamp) -> String {
        let digits = String(max(0, time.microseconds), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension RunRecord {
    /// `run` → the record.
    static let runs = StoreCollection("runs")
    /// `run` → the `LiveRun.Stored`. It changes more often than the record, and is smaller.
    static let live = StoreCollection("live")
    /// `run` → the live curves of its runners.
    static let curves = StoreCollection("curves")
    /// `run/user` or `run/ghost number` → the `FinalRecord`.
    static let finals = StoreCollection("finals")
    /// ``RunListing/key(_:)`` → the `RunListing`, in the run's shard.
    static let listings = StoreCollection("listings")
    /// `owner/session/run` → nothing: the runs in which a session runs along as a ghost, in the run's shard.
    static let ghosts = StoreCollection("ghosts")
    /// `user/run` → the `RunPart`, in the run's shard.
    static let parts = StoreCollection("parts")
    /// `user` → the `InvitationTally`, in the shard of the runs.
    static let invitations = StoreCollection("invitations")
    /// `run/user/other` → when they met: `other` becomes a contact of `user`, whose shard another replica owned then.
    static let meetings = StoreCollection("meetings")
    /// `run/user` → when the deletion of the user cleared the `partners` of the run.
    static let cleared = StoreCollection("cleared")
    /// `user` → the `PersonRecord`.
    static let people = StoreCollection("people")
    /// `user/request` → the reply, so that a repeated request is applied once.
    static let replies = StoreCollection("replies")

    /// ``hidingKey`` → the 16 bytes of a `HidingKey`, in shard 00.
    static let keys = StoreCollection("keys")
    static let hidingKey = StoreKey(shard: Shard(0), key: "hiding")

    static let schema = StoreSchema(
        service: "virtual-run",
        steps: [
            [
                runs, live, curves, finals, listings, ghosts, parts, invitations, meetings, cleared, people, replies,
                keys,
            ]
        ])
}

extension Runner: CustomStringConvertible {
    /// Its part of a key.
    var description: String {
        switch self {
        case .participant(let user): "\(user)"
        // No account has a dot.
        case .ghost(let number): ".\(number)"
        }
    }
}
