import MQTT
import Workouts

/// Holds batches of sessions that are not known yet, unacknowledged, until their `state` comes.
///
/// Memory is bounded: what does not fit is dropped and counted, and what waited a minute leaves. Devices send it again.
struct WaitingRoom {
    /// The memory of all that waits.
    static let byteLimit = 16 * 1_024 * 1_024
    /// What a message takes besides its payload.
    static let overhead = 256
    static let patience = 60.0
    private static let interval = 1.0

    private var messages: [SessionKey: (since: Timestamp, messages: [MQTTMessage])] = [:]
    private(set) var bytes = 0
    private(set) var dropped = 0
    private var expiredAt: Timestamp?

    mutating func add(_ message: MQTTMessage, for key: SessionKey, now: Timestamp) {
        guard bytes + size(message) <= Self.byteLimit else {
            dropped += 1
            return
        }
        bytes += size(message)
        // A copy, for a slice would keep the bytes of its whole batch.
        var own = message
        own.payload = ArraySlice(Array(message.payload))
        messages[key, default: (now, [])].messages.append(own)
    }

    mutating func take(_ key: SessionKey) -> [MQTTMessage] {
        guard let waiting = messages.removeValue(forKey: key)?.messages else { return [] }
        bytes -= waiting.reduce(0) { $0 + size($1) }
        return waiting
    }

    /// Lets go of what waited long enough; looks once a second.
    mutating func expire(now: Timestamp) {
        guard expiredAt.map({ now.seconds(since: $0) >= Self.interval || now < $0 }) ?? true else { return }
        expiredAt = now
        for (key, waiting) in messages where waiting.since + Self.patience <= now {
            dropped += waiting.messages.count
            _ = take(key)
        }
    }

    private func size(_ message: MQTTMessage) -> Int { message.payload.count + Self.overhead }
}
