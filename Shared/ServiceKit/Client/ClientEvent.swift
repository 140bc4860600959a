package import MQTT

/// What a client of the services reacts to, one after the other.
package enum ClientEvent: Sendable {
    case connected
    case disconnected
    case message(MQTTMessage)
    case tick
    /// Ctrl-C or SIGTERM.
    case stop
}

extension ClientEvent {
    static func events(_ event: MQTTEvent) -> [ClientEvent] {
        switch event {
        case .connected: return [.connected]
        case .disconnected: return [.disconnected]
        case .subscribed: return []
        case .batch(let batch):
            // Nothing of it is needed again: what is lost, the services send again.
            batch.acknowledge()
            return batch.messages.map(ClientEvent.message)
        }
    }
}

/// It was stopped before there was a result.
package struct Interrupted: Error, CustomStringConvertible {
    package let description = "interrupted"

    package init() {}
}
