package import MQTT

extension TopicFilter {
    /// The presence of every process of a service, by the executable's name.
    package static func presence(of service: String) -> MQTTSubscription {
        MQTTSubscription(filter: "\(Topic.root)/services/_\(service)/+", qos: .atLeastOnce)
    }
}
