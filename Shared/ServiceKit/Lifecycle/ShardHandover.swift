import Storage
import Workouts

/// The shards that a service subscribes to, and what follows each change of its subscriptions.
struct ShardHandover {
    /// What to do when the broker has confirmed a change.
    private enum Step {
        case announce(Set<Shard>)
        case release(Set<Shard>)
        case resubscribe
        case nothing
    }

    private(set) var owned: Set<Shard>
    /// Without a connection nothing is announced: the next one announces everything.
    var isConnected = false
    /// Shards to give up when what was read is handled.
    private var releasing: Set<Shard> = []
    /// One for each change that the bus has not confirmed, in order.
    private var steps: [Step] = []

    init(owned: Set<Shard>) {
        self.owned = owned
    }

    /// Takes a change and returns what the loop handles before the subscriptions change.
    mutating func apply(_ change: OwnershipChange) -> [ServiceEvent] {
        switch change {
        case .gained(let epochs):
            let shards = Set(epochs.keys)
            // Whatever is in memory of an earlier epoch may be outdated.
            let outdated = shards.intersection(owned.union(releasing))
            owned.formUnion(shards)
            releasing.subtract(shards)
            steps.append(.announce(shards))
            return (outdated.isEmpty ? [] : [.ownership(.lost(outdated))]) + [.ownership(change)]
        case .releasing(let shards):
            releasing.formUnion(shards.intersection(owned))
            owned.subtract(shards)
            steps.append(.release(shards))
            return []
        case .lost(let shards):
            owned.subtract(shards)
            releasing.subtract(shards)
            steps.append(.nothing)
            return [.ownership(change)]
        }
    }

    /// Takes a change of the subscriptions alone.
    mutating func resubscribe() {
        steps.append(.resubscribe)
    }

    /// Whether the earliest change that the bus has not confirmed is one of the subscriptions alone.
    var isResubscribing: Bool {
        if case .resubscribe = steps.first { true } else { false }
    }

    /// The bus has confirmed the earliest change. Shards that were lost meanwhile are left out.
    mutating func subscribed() -> ServiceEvent? {
        switch steps.removeFirst() {
        case .announce(let shards):
            let announced = shards.intersection(owned)
            return announced.isEmpty || !isConnected ? nil : .announce(announced)
        case .release(let shards):
            let released = shards.intersection(releasing)
            releasing.subtract(released)
            return released.isEmpty ? nil : .ownership(.releasing(released))
        case .resubscribe, .nothing: return nil
        }
    }
}
