import Bus
import MQTT

extension TopicFilter {
    /// A topic with any last level: `…/series/+`.
    static func anyLast(_ topic: Topic) -> MQTTSubscription {
        let levels = topic.name.split(separator: "/").dropLast().joined(separator: "/")
        return MQTTSubscription(filter: "\(levels)/+", qos: topic.qos)
    }
}
