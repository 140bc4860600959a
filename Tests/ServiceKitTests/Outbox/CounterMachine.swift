import MQTT
import ServiceKit
import Storage
import Workouts

/// Counts per shard: the smallest machine with every kind of action.
struct CounterMachine: OwningMachine {
    enum Action: OwnedAction {
        case save(Shard)
        case publish(Shard)
        case reply(Shard, Int)
        case ask(Shard)
        case report(String)

        var shard: Shard? {
            switch self {
            case .save(let shard), .publish(let shard), .reply(let shard, _), .ask(let shard): shard
            case .report: nil
            }
        }

        var urgency: Urgency {
            switch self {
            case .save, .publish: .afterCommit
            case .reply: .dropIfRefused
            case .ask, .report: .now
            }
        }
    }

    static let counts = StoreCollection("counts")

    var counts: [Shard: Int] = [:]
    var pendingBytes = 0
    /// What the next ``advance(to:)`` does.
    var due: [Action] = []

    mutating func count(_ shard: Shard) -> [Action] {
        counts[shard, default: 0] += 1
        return [.save(shard), .publish(shard)]
    }

    func writes(for action: Action) -> [PendingWrite] {
        guard case .save(let shard) = action, let count = counts[shard] else { return [] }
        return [.put(Self.counts, "count", count)]
    }

    func messages(for action: Action) -> [MQTTMessage] {
        switch action {
        case .publish(let shard): [Self.message("count", shard, counts[shard] ?? 0)]
        case .reply(let shard, let id): [Self.message("reply", shard, id)]
        case .ask(let shard): [Self.message("ask", shard, 0)]
        case .save, .report: []
        }
    }

    static func message(_ kind: String, _ shard: Shard, _ value: Int) -> MQTTMessage {
        MQTTMessage(topic: "\(kind)/\(shard)", payload: Array("\(value)".utf8), qos: .atLeastOnce)
    }

    func announce(_ shards: Set<Shard>, now: Moment) -> [Action] {
        counts.keys.filter(shards.contains).sorted().map { .publish($0) }
    }

    func connected(now: Moment) -> [Action] { announce(Set(Shard.all), now: now) }

    mutating func disconnected(now: Moment) -> [Action] { [.report("disconnected")] }

    mutating func advance(to now: Moment) -> [Action] {
        defer { due = [] }
        return due
    }

    mutating func drop(_ shards: Set<Shard>) {
        counts = counts.filter { !shards.contains($0.key) }
    }
}
