/// A message as it is published or was received.
///
/// The payloads of one received batch share a single array, so a slice's indices rarely begin at 0, and keeping one slice
/// keeps the whole batch's bytes.
package struct MQTTMessage: Sendable, Hashable {
    package var topic: String
    package var payload: ArraySlice<UInt8>
    package var qos: QoS
    /// When publishing: replace the topic's retained message (an empty payload clears it). When received: this is the
    /// retained message that a new subscription begins with, not a live one.
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

/// How hard a message is delivered. QoS 2 is left out on purpose: after PUBREC its payload lives in the client's memory
/// alone, so a consumer that is killed loses it.
package enum QoS: UInt8, Sendable, Hashable {
    case atMostOnce = 0
    case atLeastOnce = 1
}

/// A topic filter, `+` and `#` allowed, and the highest QoS in which its messages are delivered.
package struct MQTTSubscription: Sendable, Hashable {
    package var filter: String
    package var qos: QoS

    package init(filter: String, qos: QoS) {
        self.filter = filter
        self.qos = qos
    }
}
