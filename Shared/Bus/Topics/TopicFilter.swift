package import MQTT
package import Workouts

/// Subscriptions to a kind of topic: of every user, in some shards or in all.
package enum TopicFilter {
    /// A session topic of every session: one subscription for all shards together, otherwise one for each. What people
    /// publish may have the shard in capitals, which the service rejects.
    package static func sessions(_ kind: SessionTopic.Kind, shards: Set<Shard>) -> [MQTTSubscription] {
        var levels = ["+"]
        if shards.count < 256 {
            levels = shards.sorted().flatMap { kind.row.queue != .service ? spellings($0) : [$0.description] }
        }
        return levels.map { shard in
            MQTTSubscription(filter: Topic.name(shard, "+", "+", kind.rawValue), qos: kind.row.qos)
        }
    }

    /// A shard in lower case, then with each of its letters in either case.
    private static func spellings(_ shard: Shard) -> [String] {
        shard.description.reduce([""]) { texts, digit in
            let digits = digit.isLetter ? [String(digit), digit.uppercased()] : [String(digit)]
            return texts.flatMap { text in digits.map { text + $0 } }
        }
    }

    /// A session topic of every session, with its device or target.
    package static func sessions(_ topic: SessionTopic) -> MQTTSubscription {
        MQTTSubscription(filter: Topic.name("+", "+", "+", topic.levels), qos: topic.qos)
    }

    /// A user topic of every user.
    package static func users(_ topic: UserTopic) -> MQTTSubscription {
        MQTTSubscription(filter: Topic.name(Topic.users, "+", topic.levels), qos: topic.qos)
    }

    /// The requests of all viewers of every user.
    package static let viewerRequests = MQTTSubscription(
        filter: Topic.name(Topic.users, "+", UserTopic.Kind.viewerRequest.rawValue),
        qos: UserTopic.Kind.viewerRequest.row.qos)

    /// The presence of every process of a service, by the executable's name.
    package static func presence(of service: String) -> MQTTSubscription {
        MQTTSubscription(filter: Topic.name(Topic.services, "_\(service)", "+"), qos: .atLeastOnce)
    }

    /// The views of all virtual runs, of one user or of every user.
    package static func virtualRuns(of user: User? = nil) -> MQTTSubscription {
        MQTTSubscription(
            filter: Topic.name(Topic.users, user?.description ?? "+", UserTopic.Kind.virtualRun.rawValue),
            qos: UserTopic.Kind.virtualRun.row.qos)
    }

    /// The files that all users upload: requests, statuses and parts.
    package static let imports = [UserTopic.Kind.importStatus, .importRequest, .importParts].map { kind in
        MQTTSubscription(filter: Topic.name(Topic.users, "+", kind.rawValue), qos: kind.row.qos)
    }

    /// The live metrics of all sessions of a user.
    package static func metrics(of user: User) -> MQTTSubscription { sessions(.metrics, of: user) }

    /// The live routes of all sessions of a user.
    package static func routes(of user: User) -> MQTTSubscription { sessions(.route, of: user) }

    private static func sessions(_ topic: SessionTopic, of user: User) -> MQTTSubscription {
        MQTTSubscription(filter: Topic.name("+", "\(user)", "+", topic.levels), qos: topic.qos)
    }

    /// The other runners of all virtual runs of every user.
    package static let partners = MQTTSubscription(
        filter: Topic.name(Topic.users, "+", UserTopic.Kind.partners.rawValue), qos: UserTopic.Kind.partners.row.qos)

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
