import Bus
package import MQTT
import Timing
import Workouts

/// Reports the payloads that a service rejected to operators: 10 a second in bursts of 100. The rest is only counted.
package struct Rejections: Sendable {
    private struct Payload: Encodable {
        let at: Timestamp
        let bytes: Int
        let head: String
        let reason: String
        let topic: String
    }

    /// All rejected payloads.
    package private(set) var count = 0
    private let service: String
    private var limit = TokenBucket<Moment>(burst: 100, perSecond: 10)

    /// - Parameter service: the executable's name.
    package init(service: String) {
        self.service = service
    }

    /// Counts a rejected payload and returns the report: its topic, reason, size and first 256 bytes.
    ///
    /// Returns `nil` above the rate limit.
    package mutating func reject(
        topic: String, payload: ArraySlice<UInt8>, reason: String, at now: Moment
    ) -> MQTTMessage? {
        count += 1
        guard limit.take(now) else { return nil }
        let report = Payload(
            at: now.wallClock, bytes: payload.count, head: String(decoding: payload.prefix(256), as: UTF8.self),
            reason: reason, topic: topic)
        return Topic.rejected(service: service).message(JSONCoding.encode(report))
    }
}
