import Bus
import MQTT
import Workouts

extension TopicFilter {
    /// The acknowledgements of a device that takes part in many users' sessions.
    static func acks(_ kind: StreamName.Kind, of device: Device) -> MQTTSubscription {
        MQTTSubscription(filter: "\(Topic.root)/+/+/+/\(kind.rawValue)/\(device)/ack", qos: .atMostOnce)
    }

    /// The replies to a client that acts for many users.
    static func replies(to client: Client) -> MQTTSubscription {
        MQTTSubscription(filter: "\(Topic.root)/u/+/replies/\(client)", qos: .atLeastOnce)
    }
}
