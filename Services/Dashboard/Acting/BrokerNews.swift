import Bus
import MQTT
import ServiceKit
import Workouts

/// What only an operator's account reads: the broker's figures and the payloads that services rejected.
struct BrokerNews: Sendable {
    /// The broker's figures, by their topic below `$SYS/broker`.
    enum Figure: String, CaseIterable, Sendable {
        case clients = "clients/connected"
        case messagesIn = "load/messages/received/1min"
        case messagesOut = "load/messages/sent/1min"
        case bytesIn = "load/bytes/received/1min"
        case bytesOut = "load/bytes/sent/1min"
        case dropped = "publish/messages/dropped"
        case retained = "retained messages/count"
        /// Retained ones, and those that wait in clients' queues.
        case stored = "store/messages/count"
        case heap = "heap/current"
        case uptime
    }

    struct Rejected: Equatable, Sendable {
        let at: Timestamp
        let service: String
        let topic: String
        let reason: String
    }

    private struct Payload: Decodable {
        let at: Timestamp
        let reason: String
        let topic: String
    }

    /// The rejected messages that are kept.
    static let limit = 20
    private static let textLimit = 120
    private static let root = "$SYS/broker/"

    static let subscriptions =
        [TopicFilter.allRejections]
        + Figure.allCases.map { MQTTSubscription(filter: root + $0.rawValue, qos: .atMostOnce) }

    /// Since when rejected messages are read; `nil` before the first connection.
    private(set) var since: Timestamp?
    /// The newest first.
    private(set) var rejected: [Rejected] = []
    /// All that were rejected ``since``.
    private(set) var rejectedCount = 0
    private(set) var figures: [Figure: Double] = [:]

    mutating func connected(_ now: Timestamp) {
        if since == nil { since = now }
    }

    mutating func disconnected() {
        figures = [:]
    }

    mutating func receive(_ message: MQTTMessage) {
        if message.topic.hasPrefix(Self.root) {
            guard let figure = Figure(rawValue: String(message.topic.dropFirst(Self.root.count))) else { return }
            // `uptime` has a unit behind its number.
            let number = String(decoding: message.payload, as: UTF8.self).prefix { $0 != " " }
            figures[figure] = Double(number).flatMap { $0.isFinite ? $0 : nil }
        } else if case .rejected(let service)? = Topic(message.topic),
            let payload = try? JSONCoding.decode(Payload.self, from: message.payload)
        {
            rejectedCount += 1
            let rejected = Rejected(
                at: payload.at, service: service, topic: Self.printable(payload.topic),
                reason: Self.printable(payload.reason))
            self.rejected = [rejected] + self.rejected.prefix(Self.limit - 1)
        }
    }

    /// A text of a stranger: short, and without characters that do more than show.
    private static func printable(_ text: String) -> String {
        let text = String(text.prefix(textLimit + 1)).escapingControlCharacters()
        return text.count > textLimit ? text.prefix(textLimit) + "…" : text
    }
}
