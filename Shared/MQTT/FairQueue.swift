import CMosquitto
import DequeModule

/// Received messages that wait for their turn.
///
/// Each owner has a queue. A turn takes from the queues in rotation, about equal costs from each (deficit round robin), so
/// an owner's messages delay only that owner. What exceeds an owner's limits is dropped and counted.
struct FairQueue {
    /// The queue of one owner. An object, because every message refers to it.
    final class Owner {
        let name: String
        fileprivate var entries: Deque<Entry> = []
        /// The cost that it may still take before the next owner.
        fileprivate var deficit = 0
        fileprivate var bytes = 0
        fileprivate var requests = 0

        init(_ name: String) {
            self.name = name
        }

        var isEmpty: Bool { entries.isEmpty }
    }

    /// A topic with its rule applied.
    final class Topic {
        let name: String
        let kind: QueueRule.Kind
        let owner: Owner
        fileprivate var waiting = 0

        init(_ name: String, _ kind: QueueRule.Kind, _ owner: Owner) {
            self.name = name
            self.kind = kind
            self.owner = owner
        }

        var isWaiting: Bool { waiting > 0 }
    }

    fileprivate struct Entry {
        let topic: Topic
        let payload: [UInt8]
        let qos: QoS
        let retain: Bool
        let cost: Int
    }

    /// Messages dropped since the last ``takeDropped()``.
    struct Dropped: Equatable {
        var tooLarge = 0
        var unsubscribed = 0
        var limited: [QueueExcess: Int] = [:]
    }

    /// The memory of a message besides its payload.
    private static let overhead = 128

    private let limits: QueueLimits
    private let payloadLimit: Int
    private let messageLimit: Int
    private let byteLimit: Int
    private var topics: TopicTable
    /// The owners with waiting messages, in the order of their turns.
    private var rotation: Deque<Owner> = []
    private var messages = 0
    private var cost = 0
    /// Messages of services, and their bytes.
    private var kept = (messages: 0, bytes: 0)
    /// Whether a subscriber exists.
    var isOpen = false
    private var dropped = Dropped()
    private(set) var hasDropped = false

    init(_ configuration: MQTTConfiguration, topicLimit: Int = 65_536) {
        limits = configuration.queueLimits
        payloadLimit = configuration.payloadLimit
        messageLimit = configuration.batchLimit
        byteLimit = configuration.batchByteLimit
        topics = TopicTable(limit: topicLimit, rule: configuration.queueRule)
    }

    var total: BatchGate.Collected {
        BatchGate.Collected(
            messages: messages, isTurn: cost >= limits.turn || messages >= messageLimit,
            isFull: kept.messages >= messageLimit || kept.bytes >= byteLimit)
    }

    mutating func tick(now: ContinuousClock.Instant) {
        topics.tick(now: now)
    }

    // MARK: Adding

    mutating func append(_ message: mosquitto_message) {
        guard isOpen else {
            dropped.unsubscribed += 1
            hasDropped = true
            return
        }
        let length = Int(message.payloadlen)
        guard length <= payloadLimit else {
            dropped.tooLarge += 1
            hasDropped = true
            return
        }
        let topic = topics.topic(message.topic)
        if let limit = exceeded(by: length, on: topic) {
            dropped.limited[QueueExcess(owner: topic.owner.name, limit: limit), default: 0] += 1
            hasDropped = true
            return
        }
        add(
            Entry(
                topic: topic, payload: Array(UnsafeRawBufferPointer(start: message.payload, count: length)),
                qos: message.qos == 0 ? .atMostOnce : .atLeastOnce, retain: message.retain,
                cost: limits.cost(of: topic.kind, length)))
    }

    /// The limit that one more message would exceed. An owner without waiting messages exceeds none.
    private func exceeded(by length: Int, on topic: Topic) -> QueueLimit? {
        let owner = topic.owner
        switch topic.kind {
        case .service: return nil
        case .items where topic.waiting >= limits.batchesPerStream: return .batchesPerStream
        case .request where owner.requests >= limits.requestsPerOwner: return .requestsPerOwner
        case .items, .request:
            guard !owner.isEmpty else { return nil }
            let share = min(limits.bytesPerOwner, limits.bytes / rotation.count)
            return owner.bytes + length + Self.overhead > share ? .bytesPerOwner : nil
        }
    }

    private mutating func add(_ entry: Entry) {
        let owner = entry.topic.owner
        if owner.isEmpty {
            owner.deficit = limits.quantum
            rotation.append(owner)
        }
        owner.entries.append(entry)
        count(entry, 1)
    }

    private mutating func count(_ entry: Entry, _ sign: Int) {
        let (topic, bytes) = (entry.topic, entry.payload.count + Self.overhead)
        messages += sign
        cost += sign * entry.cost
        topic.waiting += sign
        switch topic.kind {
        case .service:
            kept.messages += sign
            kept.bytes += sign * bytes
        case .items:
            topic.owner.bytes += sign * bytes
        case .request:
            topic.owner.bytes += sign * bytes
            topic.owner.requests += sign
        }
    }

    // MARK: Taking

    /// Removes and returns the messages of one turn, or of all turns.
    mutating func take(all: Bool = false) -> [MQTTMessage] {
        var taken: [MQTTMessage] = []
        taken.reserveCapacity(all ? messages : min(messages, messageLimit))
        var rest = all ? Int.max : limits.turn
        while let owner = rotation.first {
            while !owner.isEmpty, owner.entries[0].cost <= owner.deficit {
                guard all || rest > 0 && taken.count < messageLimit else { return taken }
                let entry = owner.entries.removeFirst()
                count(entry, -1)
                owner.deficit -= entry.cost
                rest -= entry.cost
                taken.append(
                    MQTTMessage(
                        topic: entry.topic.name, payload: entry.payload, qos: entry.qos, retain: entry.retain))
            }
            rotation.removeFirst()
            guard !owner.isEmpty else { continue }
            owner.deficit += limits.quantum
            rotation.append(owner)
        }
        return taken
    }

    mutating func takeDropped() -> Dropped {
        defer {
            dropped = Dropped()
            hasDropped = false
        }
        return dropped
    }
}
