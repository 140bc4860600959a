import Glibc

/// Whose messages a topic carries, and what happens to those that exceed the owner's limits.
package struct QueueRule: Hashable, Sendable {
    package enum Kind: Sendable {
        /// From a service. None is dropped; above the limit the client stops reading.
        case service
        /// Numbered items. A device sends a dropped batch again.
        case items
        /// A command or a request. Its client repeats it.
        case request
    }

    /// Messages of one owner keep their order; owners take turns.
    package var owner: String
    package var kind: Kind

    package init(owner: String, kind: Kind) {
        self.owner = owner
        self.kind = kind
    }
}

/// How many received messages may wait, and how many of them are one turn.
///
/// A message costs its payload's bytes and a constant of its kind, which stands for the work that a short one causes.
package struct QueueLimits: Sendable {
    /// The cost of one turn, which bounds the time of its commit.
    package var turn = 1_024 * 1_024
    /// The cost that an owner's messages may have before the next owner follows.
    package var quantum = 16 * 1_024
    /// Waiting batches of one stream: as many as a device may have in flight.
    package var batchesPerStream = 20
    package var requestsPerOwner = 128
    package var bytesPerOwner = 8 * 1_024 * 1_024
    /// Shared equally by the owners with waiting messages when ``bytesPerOwner`` for each would be more.
    package var bytes = 128 * 1_024 * 1_024

    package init() {}

    func cost(of kind: QueueRule.Kind, _ bytes: Int) -> Int {
        switch kind {
        case .items: bytes + 64
        case .service: bytes + 256
        case .request: bytes + 8_192
        }
    }
}

/// The limits that drop messages, by their name in metrics.
package enum QueueLimit: CaseIterable, Sendable {
    case batchesPerStream
    case requestsPerOwner
    case bytesPerOwner

    package var name: StaticString {
        switch self {
        case .batchesPerStream: "batches_in_flight"
        case .requestsPerOwner: "waiting_requests"
        case .bytesPerOwner: "waiting_bytes"
        }
    }
}

/// Whose messages a limit dropped.
package struct QueueExcess: Hashable, Sendable {
    package var owner: String
    package var limit: QueueLimit
}

/// Finds the topics of received messages. Messages of one topic share its object, and each topic's rule is applied once.
struct TopicTable {
    /// Longer topics, up to 64 KiB, are not kept; none of them belongs to Pacebus.
    static let lengthLimit = 256
    /// A topic without a message is forgotten after one to two periods.
    static let period = Duration.seconds(600)

    private let rule: @Sendable (String) -> QueueRule
    private let limit: Int
    /// The topics of this period, and those of the one before.
    private var recent: [UInt64: FairQueue.Topic] = [:]
    private var older: [UInt64: FairQueue.Topic] = [:]
    private var owners: [String: FairQueue.Owner] = [:]
    private var latest: FairQueue.Topic?
    private var periodEnd: ContinuousClock.Instant?

    init(limit: Int, rule: @escaping @Sendable (String) -> QueueRule) {
        self.limit = limit
        self.rule = rule
    }

    var count: Int { recent.count + older.count }

    /// Forgets the topics without a message in a whole period. Most topics carry a single message: a chunk's.
    mutating func tick(now: ContinuousClock.Instant) {
        guard now >= periodEnd ?? now else { return }
        beginPeriod()
        periodEnd = now + Self.period
    }

    private mutating func beginPeriod() {
        // Limits count the waiting messages of a topic, and an owner keeps their order.
        older = recent.merging(older.filter { $0.value.isWaiting }) { recent, _ in recent }
        recent = [:]
        latest = nil
        owners = owners.filter { !$0.value.isEmpty }
        for topic in older.values { owners[topic.owner.name] = topic.owner }
    }

    mutating func topic(_ name: UnsafePointer<CChar>) -> FairQueue.Topic {
        let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
        if let latest, matches(latest.name, bytes) { return latest }
        let topic = lookUp(bytes)
        latest = topic
        return topic
    }

    private mutating func lookUp(_ bytes: UnsafeRawBufferPointer) -> FairQueue.Topic {
        let key = hash(bytes)
        if let known = recent[key], matches(known.name, bytes) { return known }
        // Topics are foreign input, so their number is bounded.
        if recent.count >= limit { beginPeriod() }
        let topic = known(bytes, key) ?? made(bytes)
        // A collision only replaces the earlier topic.
        if bytes.count <= Self.lengthLimit { recent[key] = topic }
        return topic
    }

    private func known(_ bytes: UnsafeRawBufferPointer, _ key: UInt64) -> FairQueue.Topic? {
        guard let known = older[key], matches(known.name, bytes) else { return nil }
        return known
    }

    private mutating func made(_ bytes: UnsafeRawBufferPointer) -> FairQueue.Topic {
        let name = String(decoding: bytes, as: UTF8.self)
        let rule = rule(name)
        return FairQueue.Topic(name, rule.kind, owner(rule.owner))
    }

    private mutating func owner(_ name: String) -> FairQueue.Owner {
        if let known = owners[name] { return known }
        let owner = FairQueue.Owner(name)
        owners[name] = owner
        return owner
    }

    private func matches(_ string: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard string.utf8.count == bytes.count else { return false }
        return string.utf8.withContiguousStorageIfAvailable { known in
            guard let known = known.baseAddress, let bytes = bytes.baseAddress else { return true }
            return memcmp(known, bytes, string.utf8.count) == 0
        } ?? false
    }

    /// Hashes eight bytes at a time; the dictionary hashes the result again.
    private func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        let prime: UInt64 = 0x9E37_79B9_7F4A_7C15
        var hash = UInt64(bytes.count) &* prime
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = (hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* prime
            hash ^= hash &>> 32
            offset += 8
        }
        while offset < bytes.count {
            hash = (hash ^ UInt64(bytes[offset])) &* prime
            offset += 1
        }
        return hash
    }
}
