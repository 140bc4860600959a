package import MQTT
package import Workouts

/// Keeps messages that cannot be handled yet, in their order under the key that they wait for.
///
/// Its memory is bounded, in all and for each user: it drops and counts a message that does not fit and one that waited too
/// long. Their senders send them again.
package struct PendingBuffer<Key: Hashable> {
    /// The memory that a message takes besides its payload.
    package static var overhead: Int { 256 }
    private static var interval: Double { 1 }

    private typealias Pending = (since: Moment, user: User, message: MQTTMessage)

    package let byteLimit: Int
    package let userLimit: Int
    /// The timeout in seconds.
    private let timeout: Double
    private var messages: [Key: [Pending]] = [:]
    package private(set) var bytes = 0
    private var bytesByUser: [User: Int] = [:]
    /// Messages that did not fit.
    package private(set) var overflowed = 0
    /// Messages that waited too long.
    package private(set) var expired = 0
    private var expiredAt: Moment?

    /// - Parameter userLimit: the bytes of one user.
    package init(byteLimit: Int, userLimit: Int, timeout: Double) {
        self.byteLimit = byteLimit
        self.userLimit = userLimit
        self.timeout = timeout
    }

    /// Returns `false` if the user has too much pending, and drops the message.
    @discardableResult
    package mutating func add(_ message: MQTTMessage, for key: Key, of user: User, now: Moment) -> Bool {
        let isAllowed = bytesByUser[user, default: 0] + size(message) <= userLimit
        guard isAllowed, bytes + size(message) <= byteLimit else {
            overflowed += 1
            return isAllowed
        }
        count(message, of: user, 1)
        messages[key, default: []].append((now, user, message))
        return true
    }

    /// Removes and returns what is pending under a key.
    package mutating func take(_ key: Key, now: Moment) -> [MQTTMessage] {
        expire(key, now)
        return remove(key).map(\.message)
    }

    /// Removes what waited too long; checks once a second. Returns the first removed message of each key.
    @discardableResult
    package mutating func expire(now: Moment) -> [MQTTMessage] {
        guard expiredAt.map({ now.seconds(since: $0) >= Self.interval }) ?? true else { return [] }
        expiredAt = now
        return messages.keys.compactMap { expire($0, now) }
    }

    /// Removes what is pending under some keys.
    package mutating func drop(where isDropped: (Key) -> Bool) {
        for key in messages.keys where isDropped(key) { _ = remove(key) }
    }

    @discardableResult
    private mutating func expire(_ key: Key, _ now: Moment) -> MQTTMessage? {
        guard let first = messages[key]?.first, first.since + timeout <= now else { return nil }
        let all = remove(key)
        let left = all.drop { $0.since + timeout <= now }
        expired += all.count - left.count
        for pending in left { count(pending.message, of: pending.user, 1) }
        if !left.isEmpty { messages[key] = Array(left) }
        return first.message
    }

    private mutating func remove(_ key: Key) -> [Pending] {
        let removed = messages.removeValue(forKey: key) ?? []
        for pending in removed { count(pending.message, of: pending.user, -1) }
        return removed
    }

    private mutating func count(_ message: MQTTMessage, of user: User, _ sign: Int) {
        bytes += sign * size(message)
        let sum = bytesByUser[user, default: 0] + sign * size(message)
        bytesByUser[user] = sum > 0 ? sum : nil
    }

    private func size(_ message: MQTTMessage) -> Int { message.payload.count + Self.overhead }
}
