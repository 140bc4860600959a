import ArgumentParser
import Foundation
import Workouts

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

extension Device {
    /// A watch with four random characters.
    static func newWatch() -> Device {
        let characters = "abcdefghijklmnopqrstuvwxyz0123456789"
        let random = String((0..<4).compactMap { _ in characters.randomElement() })
        guard let device = Device("watch-\(random)") else { preconditionFailure("made to match the pattern") }
        return device
    }
}
