import ServiceKit
import Workouts

/// The invitations of the last day, by sender and shard of the runs.
struct SentInvitations {
    private var tallies: [User: [Shard: InvitationTally]] = [:]

    func tally(of user: User, in shard: Shard) -> InvitationTally? { tallies[user]?[shard] }

    func count(of user: User, _ now: Moment) -> Int { (tallies[user] ?? [:]).values.reduce(0) { $0 + $1.count(now) } }

    mutating func add(_ count: Int, of user: User, in shard: Shard, _ now: Moment) {
        tallies[user, default: [:]][shard, default: InvitationTally(0, now)].add(count, now)
    }

    mutating func load(_ tally: InvitationTally, of user: User, in shard: Shard) {
        tallies[user, default: [:]][shard] = tally
    }

    /// Removes the tallies of a shard that count no more, and returns their users.
    mutating func forget(in shard: Shard, _ now: Moment) -> [User] {
        let old = tallies.filter { $0.value[shard]?.isOver(now) ?? false }.keys.sorted()
        for user in old { remove(of: user) { $0 == shard } }
        return old
    }

    mutating func drop(_ shards: Set<Shard>) {
        for user in tallies.keys { remove(of: user, where: shards.contains) }
    }

    private mutating func remove(of user: User, where isGone: (Shard) -> Bool) {
        tallies[user] = tallies[user]?.filter { !isGone($0.key) }
        if tallies[user]?.isEmpty ?? false { tallies[user] = nil }
    }
}
