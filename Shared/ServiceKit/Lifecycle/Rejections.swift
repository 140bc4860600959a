import Bus
package import MQTT
package import Workouts

/// Tells operators of payloads that a service refused: at most 10 a second in bursts of 100, the rest is only counted.
package struct Rejections: Sendable {
    private struct Payload: Encodable {
        let at: Timestamp
        let bytes: Int
        let head: String
        let reason: String
        let topic: String
    }

    private static let burst = 100.0
    private static let perSecond = 10.0

    /// All payloads refused so far.
    package private(set) var count = 0
    private let service: String
    private var allowance = Rejections.burst
    private var latest: Timestamp?

    /// - Parameter service: the executable's name.
    package init(service: String) {
        self.service = service
    }

    /// Counts a refused payload and returns what to publish about it: its topic, reason, size and first 256 bytes.
    ///
    /// Returns `nil` when operators were told enough lately.
    package mutating func reject(
        topic: String, payload: ArraySlice<UInt8>, reason: String, at now: Timestamp
    ) -> MQTTMessage? {
        count += 1
        // A clock that was set back earns nothing.
        let earned = max(0, now.seconds(since: latest ?? now)) * Rejections.perSecond
        allowance = min(Rejections.burst, allowance + earned)
        latest = now
        guard allowance >= 1 else { return nil }
        allowance -= 1
        let told = Payload(
            at: now, bytes: payload.count, head: String(decoding: payload.prefix(256), as: UTF8.self),
            reason: reason, topic: topic)
        return Topic.rejected(service: service).message(JSONCoding.encode(told))
    }
}
