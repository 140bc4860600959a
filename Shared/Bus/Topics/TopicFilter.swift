package import MQTT
package import Workouts

/// The subscriptions of services: a kind of topic for every user, in some shards or in all.
package enum TopicFilter {
    /// A topic of every session; for a device's topics, of every device.
    package enum Sessions: CaseIterable, Sendable {
        case command, state, samples, locations, metrics, route, weather, activityRegister, activity, summaryMetrics,
            summaryRoute, series, track, request, workout, export, exportResult

        fileprivate var levels: String {
            switch self {
            case .command: "command"
            case .state: "state"
            case .samples: "samples/+"
            case .locations: "locations/+"
            case .metrics: "metrics"
            case .route: "route"
            case .weather: "weather"
            case .activityRegister: "activity/register"
            case .activity: "activity"
            case .summaryMetrics: "summary/metrics"
            case .summaryRoute: "summary/route"
            case .series: "series/+"
            case .track: "track/+"
            case .request: "request"
            case .workout: "workout"
            case .export: "export/+"
            case .exportResult: "export/+/result"
            }
        }

        fileprivate var qos: QoS {
            switch self {
            case .samples, .locations, .command, .state, .weather, .activityRegister, .activity, .summaryMetrics,
                .summaryRoute, .series, .track, .request, .workout, .export, .exportResult:
                .atLeastOnce
            case .metrics, .route: .atMostOnce
            }
        }
    }

    /// One subscription for all shards, or one per shard.
    package static func sessions(_ topic: Sessions, shards: Set<Shard>) -> [MQTTSubscription] {
        let all = shards.count == 256
        return (all ? ["+"] : shards.sorted().map(\.description)).map { shard in
            MQTTSubscription(filter: "\(Topic.root)/\(shard)/+/+/\(topic.levels)", qos: topic.qos)
        }
    }

    /// `current` of every user.
    package static let current = MQTTSubscription(filter: "\(Topic.root)/u/+/current", qos: .atLeastOnce)

    /// `profile` of every user.
    package static let profile = MQTTSubscription(filter: "\(Topic.root)/u/+/profile", qos: .atLeastOnce)

    /// `plans` of every user.
    package static let plans = MQTTSubscription(filter: "\(Topic.root)/u/+/plans", qos: .atLeastOnce)

    /// `coach/reply` of every user.
    package static let coachReply = MQTTSubscription(filter: "\(Topic.root)/u/+/coach/reply", qos: .atLeastOnce)

    /// `request` of every user.
    package static let userRequest = MQTTSubscription(filter: "\(Topic.root)/u/+/request", qos: .atLeastOnce)

    /// A topic with any last level: `…/series/+`.
    package static func anyLast(_ topic: Topic) -> MQTTSubscription {
        let levels = topic.name.split(separator: "/").dropLast().joined(separator: "/")
        return MQTTSubscription(filter: "\(levels)/+", qos: topic.qos)
    }

    /// One topic by its name.
    package static func topic(_ topic: Topic) -> MQTTSubscription {
        MQTTSubscription(filter: topic.name, qos: topic.qos)
    }
}

extension TopicFilter {
    /// The presence of every process of a service. `service` is the executable's name.
    package static func presence(of service: String) -> MQTTSubscription {
        MQTTSubscription(filter: "\(Topic.root)/services/_\(service)/+", qos: .atLeastOnce)
    }
}
