import Bus
import MQTT
import ServiceKit
import Workouts

/// Which messages can arrive: those of a shard, and the snapshots of runners.
struct RunFeed {
    /// Seconds after a connect or a takeover in which no deadline of a run passes: repeated requests come first.
    static let grace = 10.0

    /// When messages about a shard began to arrive: absent without a connection, and until a takeover has its subscriptions.
    private var announcedAt: [Shard: Moment] = [:]
    /// The metrics-aggregators that are online.
    private var aggregators = OnlineProcesses()

    var isConnected: Bool { !announcedAt.isEmpty }

    /// Whether snapshots of a run's runners can arrive.
    func feeds(_ id: RunID) -> Bool { announcedAt[id.shard] != nil && !aggregators.isEmpty }

    /// The first moment at which deadlines of a run pass; `nil` without a connection.
    func passable(_ id: RunID) -> Moment? { announcedAt[id.shard].map { $0 + Self.grace } }

    mutating func announce(_ shards: Set<Shard>, now: Moment) {
        for shard in shards { announcedAt[shard] = now }
    }

    mutating func drop(_ shards: Set<Shard>) {
        for shard in shards { announcedAt[shard] = nil }
    }

    /// Takes the presence of a metrics-aggregator. Returns whether the first has come or the last has gone.
    mutating func receive(_ message: MQTTMessage, of aggregator: ProcessName, now: Moment) throws(PayloadError) -> Bool
    {
        let wasEmpty = aggregators.isEmpty
        try aggregators.receive(message, of: aggregator, now)
        return wasEmpty != aggregators.isEmpty
    }

    /// Forgets those that no longer renew their presence. Returns whether the last has gone.
    mutating func expire(_ now: Moment) -> Bool {
        let wasEmpty = aggregators.isEmpty
        aggregators.expire(now)
        return wasEmpty != aggregators.isEmpty
    }
}
