import ArgumentParser
import Foundation
import ServiceKit

@main
struct Dashboard: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard",
        abstract: "Serves the web pages of live workouts, and connects browsers to the broker.",
        version: BuildInfo.version)

    @OptionGroup var dashboard: DashboardOptions
    @OptionGroup var base: BaseOptions

    func run() async throws {
        let configuration = try DashboardConfiguration.resolve(
            dashboard, environment: ProcessInfo.processInfo.environment)
        try await ServiceRunner.run("dashboard", base, isService: true, keepAlive: .seconds(10)) { context in
            try DashboardConfiguration.checkBroker(context.configuration.mqtt)
            return [try DashboardService(context, configuration)]
        }
    }
}
