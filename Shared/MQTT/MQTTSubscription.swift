/// A topic filter, `+` and `#` allowed, and the highest QoS in which its messages are delivered.
package struct MQTTSubscription: Sendable, Hashable {
    package var filter: String
    package var qos: QoS

    package init(filter: String, qos: QoS) {
        self.filter = filter
        self.qos = qos
    }
}
