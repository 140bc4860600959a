import ServiceKit
import Workouts

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
    mutating func endRequests() { (contributions, lent) = ([:], [:]) }
}
