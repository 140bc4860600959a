import Bus
import ServiceKit
import Workouts

/// The `partners` that deletions cleared. They have QoS 0, and a broker that restarts restores old ones: each connect
/// clears them again for 48 h.
struct ClearedPartners {
    private var times: [RunID: [User: Moment]] = [:]

    func time(of user: User, in id: RunID) -> Moment? { times[id]?[user] }

    func runs(in shards: Set<Shard>) -> [RunID] { times.keys.filter { shards.contains($0.shard) }.sorted() }

    mutating func add(_ user: User, in id: RunID, at time: Moment) { times[id, default: [:]][user] = time }

    /// The users of a run whose topics are to be cleared again, and those that it forgets.
    mutating func advance(_ id: RunID, _ now: Moment) -> (due: [User], gone: [User]) {
        let users = times[id] ?? [:]
        let due = users.filter { now.seconds(since: $0.value) < RetainedTopic.lifetime }
        times[id] = due.isEmpty ? nil : due
        return (due.keys.sorted(), users.keys.filter { due[$0] == nil }.sorted())
    }

    mutating func drop(_ shards: Set<Shard>) { times = times.filter { !shards.contains($0.key.shard) } }
}
