/// A published or received message.
package struct MQTTMessage: Sendable, Hashable {
    package var topic: String
    package var payload: ArraySlice<UInt8>
    package var qos: QoS
    /// When publishing: replaces the topic's retained message; an empty payload clears it. When received: the message
    /// is the retained one at the start of a subscription, not a live one.
    package var retain: Bool

    package init(topic: String, payload: ArraySlice<UInt8>, qos: QoS, retain: Bool = false) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
    }

    package init(topic: String, payload: [UInt8], qos: QoS, retain: Bool = false) {
        self.init(topic: topic, payload: payload[...], qos: qos, retain: retain)
    }
}

/// The quality of service. QoS 2 is omitted on purpose: after PUBREC its payload exists only in the client's memory, so
/// a killed consumer loses it.
package enum QoS: UInt8, Sendable, Hashable {
    case atMostOnce = 0
    case atLeastOnce = 1
}

/// A topic filter with optional `+` and `#`, and the highest QoS of delivered messages.
package struct MQTTSubscription: Sendable, Hashable {
    package var filter: String
    package var qos: QoS

    package init(filter: String, qos: QoS) {
        self.filter = filter
        self.qos = qos
    }
}
