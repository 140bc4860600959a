import Bus
import Foundation
import MQTT
import Workouts

/// What the broker lets an account do.
struct AccountRights: Equatable, Sendable {
    /// The users whose topics the broker delivers to the account, itself included. Empty for the operator, who may see all.
    var seen: Set<User>
    /// Whether the account only watches others. `nil` if the broker does not publish it, as one without the rules of Pacebus:
    /// each person's account may then own workouts.
    var isViewer: Bool?
}

/// The broker's plugin publishes the rights of each person's account, retained, as soon as they change.
extension AccountRights {
    /// The account whose rights a topic carries.
    static func account(_ topic: String) -> AccountName? {
        guard topic.utf8.first == UInt8(ascii: "$"), case .account(let user)? = Topic(topic) else { return nil }
        return .person(user)
    }

    /// Reads the rights of an account; `nil` for another message, or an invalid one.
    init?(_ message: MQTTMessage, of account: AccountName) {
        struct Payload: Decodable {
            let users: [String]
            let viewer: Bool
        }
        guard Self.account(message.topic) == account,
            let payload = try? JSONCoding.decode(Payload.self, from: message.payload)
        else { return nil }
        seen = Set(payload.users.compactMap { User($0) }).union([account.user].compactMap(\.self))
        isViewer = payload.viewer
    }
}
