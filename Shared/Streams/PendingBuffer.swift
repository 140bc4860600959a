import MQTT
import ServiceKit
import Workouts

/// Keeps the batches of unknown sessions, unacknowledged, until the sessions' `state` comes.
///
/// Its memory is bounded: it drops and counts a batch that does not fit and one that waited a minute. Devices send them again.
struct PendingBuffer {
    static let byteLimit = 16 * 1_024 * 1_024
    /// The memory that a message takes besides its payload.
    static let overhead = 256
    static let timeout = 60.0
    private static let interval = 1.0

    private var messages: [SessionKey: (since: Moment, messages: [MQTTMessage])] = [:]
    private(set) var bytes = 0
    private(set) var dropped = 0
    private var expiredAt: Moment?

    mutating func add(_ message: MQTTMessage, for key: SessionKey, now: Moment) {
        guard bytes + size(message) <= Self.byteLimit else {
            dropped += 1
            return
        }
        bytes += size(message)
        // A copy: a slice keeps the bytes of its whole batch.
        var own = message
        own.payload = ArraySlice(Array(message.payload))
        messages[key, default: (now, [])].messages.append(own)
    }

    mutating func take(_ key: SessionKey) -> [MQTTMessage] {
        guard let waiting = messages.removeValue(forKey: key)?.messages else { return [] }
        bytes -= waiting.reduce(0) { $0 + size($1) }
        return waiting
    }

    /// Removes what waited too long; checks once a second.
    mutating func expire(now: Moment) {
        guard expiredAt.map({ now.seconds(since: $0) >= Self.interval }) ?? true else { return }
        expiredAt = now
        for (key, waiting) in messages where waiting.since + Self.timeout <= now {
            dropped += waiting.messages.count
            _ = take(key)
        }
    }

    /// Removes what is pending of some shards.
    mutating func drop(_ shards: Set<Shard>) {
        for key in messages.keys where shards.contains(key.session.shard) { _ = take(key) }
    }

    private func size(_ message: MQTTMessage) -> Int { message.payload.count + Self.overhead }
}
