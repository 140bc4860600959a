package import MQTT
package import Workouts

/// A topic of the bus, below `pacebus/v1`, or of the broker's plugin, below `$SYS/pacebus`.
package enum Topic: Hashable, Sendable {
    case session(SessionKey, SessionTopic)
    case user(User, UserTopic)
    /// The presence of one process of a service.
    case presence(service: String, ProcessName)
    /// Payloads that a service rejected. Only operators may read it.
    case rejected(service: String)
    /// From the broker's plugin: whose topics an account reads, and whether it is a viewer's.
    case account(User)
    /// From the broker's plugin: how often it refused an account by a limit. Only session-engine and operators may read it.
    case limited(limit: String, User)

    /// The prefix of every topic of this version.
    static let root = "pacebus/v1"
    static let users = "u"
    static let services = "services"
    static let rejections = "rejected"

    /// The name below the root, of a topic or of a filter.
    static func name(_ levels: String...) -> String { "\(root)/\(levels.joined(separator: "/"))" }

    /// The topic's name, as it is on the wire.
    package var name: String {
        switch self {
        case .session(let key, let topic):
            Self.name("\(key.session.shard)", "\(key.user)", "\(key.session)", topic.levels)
        case .user(let user, let topic): Self.name(Self.users, "\(user)", topic.levels)
        case .presence(let service, let instance): Self.name(Self.services, "_\(service)", "\(instance)")
        case .rejected(let service): Self.name(Self.rejections, "_\(service)")
        case .account(let user): "\(Self.accountPrefix)\(user)"
        case .limited(let limit, let user): "\(Self.limitPrefix)\(limit)/\(user)"
        }
    }

    /// Parses a name; `nil` if it is not a topic of the bus, or a level does not match its pattern.
    package init?(_ name: String) {
        guard name.utf8.starts(with: Self.root.utf8) else {
            self.init(ofBroker: name)
            return
        }
        var levels = name.utf8.dropFirst(Self.root.utf8.count)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { String(Substring($0)) }
        guard levels.count >= 3, levels.removeFirst().isEmpty else { return nil }
        switch levels[0] {
        case Self.users:
            guard let user = User(account: levels[1]), let topic = UserTopic(levels[2...]),
                user != .operators || topic.kind.isOfOperators
            else { return nil }
            self = .user(user, topic)
        case Self.services:
            guard levels.count == 3, let service = Self.service(levels[1]), let instance = ProcessName(levels[2]) else {
                return nil
            }
            self = .presence(service: service, instance)
        case Self.rejections:
            guard levels.count == 2, let service = Self.service(levels[1]) else { return nil }
            self = .rejected(service: service)
        default:
            // One session has one topic: its id in lower case.
            guard levels.count >= 4, let user = User(levels[1]), let session = SessionID(levels[2]),
                session.description == levels[2], Shard(levels[0]) == session.shard,
                let topic = SessionTopic(levels[3...])
            else { return nil }
            self = .session(SessionKey(user, session), topic)
        }
    }

    /// Why a name is no topic: one of a few constants.
    package static func rejectionReason(_ name: String) -> String {
        var levels = name.split(separator: "/", maxSplits: 5, omittingEmptySubsequences: false).map(String.init)
        guard levels.count > 4 else { return "bad_topic" }
        for index in [2, 4] { levels[index] = levels[index].lowercased() }
        let written = levels.joined(separator: "/")
        guard written != name, case .session? = Topic(written) else { return "bad_topic" }
        return uppercaseReason
    }

    static let uppercaseReason = "uppercase_session"

    /// The shard of a name that is no topic: its first level in either case, or else 00.
    static func shard(ofBadTopic name: String) -> Shard {
        let levels = name.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard levels.count > 2, name.hasPrefix("\(root)/") else { return Shard(0) }
        return Shard(levels[2].lowercased()) ?? Shard(0)
    }

    private static func service(_ level: String) -> String? {
        guard level.hasPrefix("_"), let name = ProcessName(String(level.dropFirst())) else { return nil }
        return name.description
    }

    /// What is true of all topics of its kind; `nil` for topics of no user's.
    package var row: TopicRow? {
        switch self {
        case .session(_, let topic): topic.kind.row
        case .user(_, let topic): topic.kind.row
        case .presence, .rejected, .account, .limited: nil
        }
    }

    package var qos: QoS {
        switch self {
        case .session(_, let topic): topic.qos
        case .user(_, let topic): topic.qos
        case .presence, .rejected, .account: .atLeastOnce
        case .limited: .atMostOnce
        }
    }

    package var isRetained: Bool {
        switch self {
        case .session(_, let topic): topic.isRetained
        case .user(_, let topic): topic.isRetained
        case .presence, .account, .limited: true
        case .rejected: false
        }
    }

    /// A message with the topic's quality of service and retention.
    package func message(_ payload: [UInt8]) -> MQTTMessage {
        MQTTMessage(topic: name, payload: payload[...], qos: qos, retain: isRetained)
    }
}

/// Levels with wildcards, `samples/+/ack`, are the only place where a topic's words are written: topics are rendered from
/// them, parsed by them and subscribed to with them.
extension String {
    /// Replaces each wildcard by its parameter.
    func filled(with parameters: [String]) -> String {
        var rest = parameters[...]
        return rest.isEmpty
            ? self
            : utf8.split(separator: UInt8(ascii: "/")).map { level in
                level.elementsEqual("+".utf8) ? rest.popFirst() ?? "+" : String(Substring(level))
            }.joined(separator: "/")
    }
}

extension RawRepresentable where RawValue == String {
    /// Where levels may have wildcards; fixed words win.
    static func match(_ levels: ArraySlice<String>) -> (Self, [String])? {
        if levels.contains("+") { return nil }
        var pattern = Array(levels)
        var parameters: [String] = []
        if let kind = Self(rawValue: pattern.joined(separator: "/")) { return (kind, []) }
        for place in stride(from: 1, to: pattern.count, by: 2) {
            parameters.append(pattern[place])
            pattern[place] = "+"
            if let kind = Self(rawValue: pattern.joined(separator: "/")) { return (kind, parameters) }
        }
        return nil
    }
}
