package import Bus
package import Logging
package import MQTT
import Timing
import Workouts

/// Reports the payloads that a service rejected: to operators, 10 a second in bursts of 100, and to the user who published
/// the payload, one a second in bursts of 20. Logs one of those a second in bursts of 20.
package struct Rejections: Sendable {
    private struct Payload: Encodable {
        let at: Timestamp
        let bytes: Int
        let head: String
        let reason: String
        let topic: String
    }

    private let service: String
    private let logger: Logger
    private var limit = TokenBucket<Moment>(burst: 100, perSecond: 10)
    private var users = RateTable<User, Moment>(burst: 20, perSecond: 1, limit: 5_000)
    private var lines = TokenBucket<Moment>(burst: 20, perSecond: 1)

    /// - Parameter service: the executable's name.
    package init(service: String, logger: Logger) {
        self.service = service
        self.logger = logger
    }

    /// Returns the messages about a rejected payload, as far as the rate limits allow them: for operators, with its size and
    /// first 256 bytes, and for its user.
    package mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, at now: Moment) -> [MQTTMessage] {
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
        if !messages.isEmpty, lines.take(now) { log(message, rejection) }
        return messages
    }

    private func log(_ message: MQTTMessage, _ rejection: Rejection) {
        var metadata = LogKey.subject(message.topic)
        metadata[LogKey.topic] = "\(rejection.topic)"
        metadata[LogKey.reason] = "\(rejection.reason)"
        if let text = rejection.message { metadata[LogKey.error] = "\(text)" }
        logger.info("payload rejected", metadata: metadata)
    }
}
