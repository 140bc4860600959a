import ArgumentParser
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
