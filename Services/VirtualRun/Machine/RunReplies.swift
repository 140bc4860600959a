import Bus
import ServiceKit
import Timing
import Workouts

/// The replies to accepted requests, which answer repeated ones, and the rates of new requests.
struct RunReplies {
    /// A reply, and the shard of the request's owner.
    struct Stored: Equatable {
        let shard: Shard
        let reply: Reply
    }

    /// By user, the oldest first.
    private var stored: [User: [Stored]] = [:]
    private var rates = Self.fullRates
    private static var fullRates: RateTable<User, Moment> {
        RateTable(burst: RunLimit.requestBurst, perSecond: RunLimit.requestRate)
    }

    func reply(to id: CommandID, of user: User) -> Reply? { stored[user]?.first { $0.reply.id == id }?.reply }

    func replies(to user: User) -> [Stored] { stored[user] ?? [] }

    /// Keeps a reply. Returns the oldest ones, which have no room any more.
    mutating func add(_ reply: Reply, of shard: Shard, to user: User) -> [Stored] {
        let all = replies(to: user) + [Stored(shard: shard, reply: reply)]
        stored[user] = all.suffix(RunLimit.replies)
        return all.dropLast(RunLimit.replies)
    }

    /// Takes over a reply from the store.
    mutating func load(_ reply: Reply, of shard: Shard, to user: User) {
        guard self.reply(to: reply.id, of: user) == nil else { return }
        stored[user, default: []].append(Stored(shard: shard, reply: reply))
        stored[user]?.sort { ($0.reply.now, $0.reply.id) < ($1.reply.now, $1.reply.id) }
    }

    /// Removes and returns the replies until a deletion.
    mutating func erase(_ user: User, until time: Timestamp) -> [Stored] {
        let gone = replies(to: user).filter { $0.reply.now <= time }
        remove(of: user) { $0.reply.now <= time }
        return gone
    }

    mutating func drop(_ shards: Set<Shard>) {
        for user in stored.keys { remove(of: user) { shards.contains($0.shard) } }
    }

    private mutating func remove(of user: User, where isGone: (Stored) -> Bool) {
        stored[user]?.removeAll(where: isGone)
        if stored[user]?.isEmpty ?? false { stored[user] = nil }
    }

    // MARK: Rates

    /// The requests that the user may make now.
    func available(to user: User, _ now: Moment) -> Int { rates.available(user, now) }

    /// Takes a request's place; `false` if there is none.
    mutating func admit(_ user: User, _ now: Moment) -> Bool { rates.take(user, now) }

    mutating func forgetRates() { rates = Self.fullRates }
}
