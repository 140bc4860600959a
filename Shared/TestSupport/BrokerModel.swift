package import Bus
package import MQTT

/// The model of a broker for tests that deliver messages: what it retains, and which subscriptions a message matches. Tests
/// differ in when and to whom they deliver.
package struct BrokerModel: Sendable {
    private var messages: [String: MQTTMessage] = [:]

    package init() {}

    /// The retained messages, by topic.
    package var retained: [MQTTMessage] { messages.values.sorted { $0.topic < $1.topic } }

    package subscript(topic: String) -> MQTTMessage? { messages[topic] }

    package subscript(topic: Topic) -> MQTTMessage? { messages[topic.name] }

    /// Retains a message that says so; an empty one clears its topic.
    package mutating func publish(_ message: MQTTMessage) {
        if message.retain { messages[message.topic] = message.payload.isEmpty ? nil : message }
    }

    package mutating func publish(_ messages: [MQTTMessage]) {
        for message in messages { publish(message) }
    }

    /// Loses the retained message of a topic.
    package mutating func forget(_ topic: Topic) { messages[topic.name] = nil }

    /// Loses all retained messages, as a killed broker does.
    package mutating func forgetAll() { messages = [:] }

    /// The message as these subscriptions deliver it: once, with the highest granted QoS; `nil` if none matches.
    package static func delivery(
        of message: MQTTMessage, through subscriptions: [MQTTSubscription]
    ) -> MQTTMessage? {
        let matching = subscriptions.filter { filter($0.filter, matches: message.topic) }
        guard let granted = matching.map(\.qos.rawValue).max() else { return nil }
        var message = message
        message.qos = QoS(rawValue: min(granted, message.qos.rawValue)) ?? .atMostOnce
        return message
    }

    /// `+` matches one level, `#` at the end any number of levels.
    private static func filter(_ filter: String, matches topic: String) -> Bool {
        var topicLevels = topic.split(separator: "/", omittingEmptySubsequences: false)[...]
        for level in filter.split(separator: "/", omittingEmptySubsequences: false) {
            if level == "#" { return true }
            guard let topicLevel = topicLevels.popFirst(), level == "+" || level == topicLevel else { return false }
        }
        return topicLevels.isEmpty
    }
}
