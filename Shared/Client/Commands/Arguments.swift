import ArgumentParser
import Bus
import MQTT
package import ServiceKit
package import Workouts

extension User: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension DashedName: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension Identifier: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension Activity: ExpressibleByArgument {}
extension Workouts.Environment: ExpressibleByArgument {}
extension Units: ExpressibleByArgument {}
extension RunClock: ExpressibleByArgument {}
extension InvitesFrom: ExpressibleByArgument {}

extension User {
    /// The pattern of a user's name, for help texts.
    package static let characters = "lowercase letters, digits, - and _, at most 64"
}

extension ServiceContext {
    /// The user of the broker's URL; `nil` if the URL has none or names a service account.
    package var user: User? { configuration.mqtt.username.flatMap { User($0) } }
}
