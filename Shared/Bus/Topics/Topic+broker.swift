package import MQTT
import Workouts

/// Topics of the broker's plugin. `$` keeps them out of `#` and `+`.
extension Topic {
    static let accountPrefix = "$SYS/pacebus/accounts/"
    static let limitPrefix = "$SYS/pacebus/limited/"
    static let figurePrefix = "$SYS/broker/"
    /// Of all topics of the broker and its plugin.
    package static let brokerPrefix = "$SYS/"

    init?(ofBroker name: String) {
        if name.hasPrefix(Self.accountPrefix) {
            guard let user = User(String(name.dropFirst(Self.accountPrefix.count))) else { return nil }
            self = .account(user)
        } else if name.hasPrefix(Self.limitPrefix) {
            let levels = name.dropFirst(Self.limitPrefix.count).split(separator: "/", omittingEmptySubsequences: false)
            guard levels.count == 2, Self.isLimit(levels[0]), let user = User(String(levels[1])) else { return nil }
            self = .limited(limit: String(levels[0]), user)
        } else {
            return nil
        }
    }

    /// Matches `[a-z0-9_]{1,64}`.
    private static func isLimit(_ level: Substring) -> Bool {
        (1...64).contains(level.utf8.count)
            && level.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

extension TopicFilter {
    /// What each account may read. People read only their own.
    package static let accounts = MQTTSubscription(filter: Topic.accountPrefix + "+", qos: .atLeastOnce)
    /// How often each limit of the broker refused each account.
    package static let limits = MQTTSubscription(filter: Topic.limitPrefix + "+/+", qos: .atLeastOnce)
    /// Mosquitto's figures.
    package static let figures = BrokerFigure.allCases.map { figure in
        MQTTSubscription(filter: Topic.figurePrefix + figure.rawValue, qos: .atMostOnce)
    }
}

/// What mosquitto publishes of itself, by its topic below `$SYS/broker/`.
package enum BrokerFigure: String, CaseIterable, Sendable {
    case clients = "clients/connected"
    case receivedPerMinute = "load/messages/received/1min"
    case sentPerMinute = "load/messages/sent/1min"
    case storedMessages = "store/messages/count"
    case uptime

    /// The figure of a topic, and `nil` for other topics.
    package init?(topic: String) {
        guard topic.hasPrefix(Topic.figurePrefix) else { return nil }
        self.init(rawValue: String(topic.dropFirst(Topic.figurePrefix.count)))
    }

    /// The number in a payload such as `17` or `86400 seconds`; `nil` if it is none.
    package static func value(_ payload: ArraySlice<UInt8>) -> Double? {
        Double(String(decoding: payload.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)).flatMap {
            $0.isFinite ? $0 : nil
        }
    }
}

/// What the broker's plugin tells about an account.
package struct AccountRights: Decodable {
    /// Whether it only reads others' topics.
    package let viewer: Bool

    /// `nil` for an account that was removed.
    package init?(_ message: MQTTMessage) throws(PayloadError) {
        guard !message.payload.isEmpty else { return nil }
        self = try JSONCoding.decode(Self.self, from: message.payload)
    }
}
