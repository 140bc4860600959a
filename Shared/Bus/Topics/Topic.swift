package import MQTT
package import Workouts

/// A topic of the bus, below `pacebus/v1`.
package enum Topic: Hashable, Sendable {
    case session(SessionKey, SessionTopic)
    case user(User, UserTopic)
    /// The presence of one process of a service.
    case presence(service: String, ProcessName)
    /// Payloads that a service rejected. Only operators may read it.
    case rejected(service: String)

    package static let root = "pacebus/v1"

    /// The topic's name on the wire.
    package var name: String {
        switch self {
        case .session(let key, let topic):
            "\(Self.root)/\(key.session.shard)/\(key.user)/\(key.session)/\(topic.levels.joined(separator: "/"))"
        case .user(let user, let topic): "\(Self.root)/u/\(user)/\(topic.levels.joined(separator: "/"))"
        case .presence(let service, let instance): "\(Self.root)/services/_\(service)/\(instance)"
        case .rejected(let service): "\(Self.root)/rejected/_\(service)"
        }
    }

    /// Parses a name. `nil` if it is not a topic of the bus or a level does not match its pattern.
    package init?(_ name: String) {
        let levels = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard levels.count >= 4, levels[0] == "pacebus", levels[1] == "v1" else { return nil }
        switch levels[2] {
        case "u":
            guard let user = User(levels[3]), let topic = UserTopic(levels[4...]) else { return nil }
            self = .user(user, topic)
        case "services":
            guard levels.count == 5, let service = Self.service(levels[3]), let instance = ProcessName(levels[4]) else {
                return nil
            }
            self = .presence(service: service, instance)
        case "rejected":
            guard levels.count == 4, let service = Self.service(levels[3]) else { return nil }
            self = .rejected(service: service)
        default:
            guard levels.count >= 6, let user = User(levels[3]), let session = SessionID(levels[4]),
                Shard(levels[2]) == session.shard, let topic = SessionTopic(levels[5...])
            else { return nil }
            self = .session(SessionKey(user, session), topic)
        }
    }

    private static func service(_ level: String) -> String? {
        guard level.hasPrefix("_"), let name = ProcessName(String(level.dropFirst())) else { return nil }
        return name.description
    }

    package var qos: QoS {
        switch self {
        case .session(_, let topic): topic.qos
        case .user, .presence, .rejected: .atLeastOnce
        }
    }

    package var isRetained: Bool {
        switch self {
        case .session(_, let topic): topic.isRetained
        case .user(_, let topic): topic.isRetained
        case .presence: true
        case .rejected: false
        }
    }

    /// A message with the topic's quality of service and retention.
    package func message(_ payload: [UInt8]) -> MQTTMessage {
        MQTTMessage(topic: name, payload: payload[...], qos: qos, retain: isRetained)
    }
}
