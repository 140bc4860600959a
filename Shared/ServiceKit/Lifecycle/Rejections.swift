package import Bus
package import MQTT
import Timing
import Workouts

/// Reports the payloads that a service rejected: to operators, 10 a second in bursts of 100, and to the user who published
/// the payload, one a second in bursts of 20. The rest is only counted.
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
    private var users = RateTable<User, Moment>(burst: 20, perSecond: 1, limit: 5_000)

    /// - Parameter service: the executable's name.
    package init(service: String) {
        self.service = service
    }

    /// Counts a rejected payload. Returns the messages for operators, with its size and first 256 bytes, and for its user,
    /// as far as the rate limits allow them.
    package mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, at now: Moment) -> [MQTTMessage] {
        count += 1
        var messages: [MQTTMessage] = []
        if limit.take(now) {
            let report = Payload(
                at: now.wallClock, bytes: message.payload.count,
                head: String(decoding: message.payload.prefix(256), as: UTF8.self), reason: rejection.reason,
                topic: message.topic)
            messages.append(Topic.rejected(service: service).message(JSONCoding.encode(report)))
        }
        if let user = Topic.publisher(message.topic), users.take(user, now) {
            messages.append(Topic.user(user, .rejected).message(JSONCoding.encode(rejection)))
        }
        return messages
    }
}
