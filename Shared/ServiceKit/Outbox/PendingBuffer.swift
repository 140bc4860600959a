package import MQTT

/// Keeps messages that cannot be handled yet, in their order under the key that they wait for.
///
/// Its memory is bounded: it drops and counts a message that does not fit and one that waited too long. Their senders send them
/// again.
package struct PendingBuffer<Key: Hashable> {
    /// The memory that a message takes besides its payload.
    package static var overhead: Int { 256 }
    private static var interval: Double { 1 }

    private typealias Pending = (since: Moment, message: MQTTMessage)

    package let byteLimit: Int
    /// In seconds.
    private let timeout: Double
    private var messages: [Key: [Pending]] = [:]
    package private(set) var bytes = 0
    /// Messages that did not fit.
    package private(set) var overflowed = 0
    /// Messages that waited too long.
    package private(set) var expired = 0
    private var expiredAt: Moment?

    package init(byteLimit: Int, timeout: Double) {
        self.byteLimit = byteLimit
        self.timeout = timeout
    }

    package mutating func add(_ message: MQTTMessage, for key: Key, now: Moment) {
        guard bytes + size(message) <= byteLimit else {
            overflowed += 1
            return
        }
        bytes += size(message)
        // A copy: a slice keeps the bytes of its whole batch.
        var own = message
        own.payload = ArraySlice(Array(message.payload))
        messages[key, default: []].append((now, own))
    }

    /// Removes and returns what is pending under a key.
    package mutating func take(_ key: Key, now: Moment) -> [MQTTMessage] {
        expire(key, now)
        return remove(key).map(\.message)
    }

    /// Removes what waited too long; checks once a second.
    package mutating func expire(now: Moment) {
        guard expiredAt.map({ now.seconds(since: $0) >= Self.interval }) ?? true else { return }
        expiredAt = now
        for key in messages.keys { expire(key, now) }
    }

    /// Removes what is pending under some keys.
    package mutating func drop(where isDropped: (Key) -> Bool) {
        for key in messages.keys where isDropped(key) { _ = remove(key) }
    }

    private mutating func expire(_ key: Key, _ now: Moment) {
        guard let first = messages[key]?.first, first.since + timeout <= now else { return }
        let all = remove(key)
        let left = all.drop { $0.since + timeout <= now }
        expired += all.count - left.count
        guard !left.isEmpty else { return }
        bytes += left.reduce(0) { $0 + size($1.message) }
        messages[key] = Array(left)
    }

    private mutating func remove(_ key: Key) -> [Pending] {
        let removed = messages.removeValue(forKey: key) ?? []
        bytes -= removed.reduce(0) { $0 + size($1.message) }
        return removed
    }

    private func size(_ message: MQTTMessage) -> Int { message.payload.count + Self.overhead }
}
