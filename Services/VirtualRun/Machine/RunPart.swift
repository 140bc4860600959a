import Bus
import ServiceKit
import Workouts

/// An unfinished run's contribution to one user's limits. It is stored in the run's shard, where the owners of other
/// runs read it.
struct RunPart: Codable, Hashable, Sendable {
    /// Whether the user hosts the run.
    var isHost: Bool
    /// The users with an unanswered invitation from the user.
    var invited: [User]
    /// Whether the user is shown an open invitation.
    var isShown: Bool
    /// Whether the user cannot confirm another run.
    var isOccupied: Bool
}

extension Run {
    /// `nil` if the run does not count for the user.
    func part(of user: User) -> RunPart? {
        guard !status.isOver, let participant = participant(user) else { return nil }
        let isHost = host == user
        let part = RunPart(
            isHost: isHost,
            invited: isHost ? participants.filter { $0.decision == .invited }.map(\.user) : [],
            isShown: participant.decision == .invited && !participant.isHidden, isOccupied: occupies(user))
        return part.isHost || part.isShown || part.isOccupied ? part : nil
    }
}

/// The contribution of other replicas' runs to a user's limits.
struct RunsElsewhere: Equatable, Sendable {
    var parts: [RunPart] = []
    /// Sent in the last day.
    var invitations = 0
}

/// What is known of the shards of other replicas.
struct OtherReplicas {
    /// The shards that other replicas may own.
    var shards: Set<Shard> = []
    /// The contribution of their runs to users' limits, for the current requests.
    var contributions: [User: RunsElsewhere] = [:]
    /// Their finished runs with a session that a current request wants as a ghost.
    var lent: [SessionKey: [Run]] = [:]

    func own(_ user: User) -> Bool { shards.contains(user.shard) }

    /// Forgets what was read for the last requests.
    mutating func forgetRequests() { (contributions, lent) = ([:], [:]) }
}

/// The invitations that a user sent for the runs of one shard.
struct InvitationTally: Codable, Equatable, Sendable {
    /// Seconds in which a user's invitations count.
    private static let day = 86_400.0

    private var count: Int
    private var since: Moment

    init(_ count: Int, _ now: Moment) {
        self.count = count
        since = now
    }

    func isOver(_ now: Moment) -> Bool { now.seconds(since: since) >= Self.day }

    /// The invitations of the last day.
    func count(_ now: Moment) -> Int { isOver(now) ? 0 : count }

    mutating func add(_ new: Int, _ now: Moment) {
        if isOver(now) { self = InvitationTally(0, now) }
        count += new
    }

    /// Limits the moment that was stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) { since = since.atMost(now) }
}
