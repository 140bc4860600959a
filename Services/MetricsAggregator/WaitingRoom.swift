import MQTT
import Workouts

/// Holds batches of sessions that are not known yet, unacknowledged, until their `state` comes.
///
/// Memory is bounded: what does not fit is dropped and counted, and what waited a minute leaves. Devices send it again.
struct WaitingRoom {
    /// Payload bytes of all that waits.
    static let byteLimit = 16 * 1_024 * 1_024
    static let patience = 60.0

    private var messages: [SessionKey: (since: Timestamp, messages: [MQTTMessage])] = [:]
    private var bytes = 0
    private(set) var dropped = 0

    mutating func add(_ message: MQTTMessage, for key: SessionKey, now: Timestamp) {
        guard bytes + message.payload.count <= Self.byteLimit else {
            dropped += 1
            return
        }
        bytes += message.payload.count
        // A copy, for a slice would keep the bytes of its whole batch.
        var own = message
        own.payload = ArraySlice(Array(message.payload))
        messages[key, default: (now, [])].messages.append(own)
    }

    mutating func take(_ key: SessionKey) -> [MQTTMessage] {
        guard let waiting = messages.removeValue(forKey: key)?.messages else { return [] }
        bytes -= waiting.reduce(0) { $0 + $1.payload.count }
        return waiting
    }

    mutating func expire(now: Timestamp) {
        for (key, waiting) in messages where waiting.since + Self.patience <= now {
            dropped += waiting.messages.count
            _ = take(key)
        }
    }
}
