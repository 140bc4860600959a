import ArgumentParser
import Foundation
import ServiceKit
import Workouts

@main
struct Dashboard: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard", abstract: "Shows live workouts in a browser, and controls them.",
        version: pacebusVersion)

    @OptionGroup var dashboard: DashboardOptions
    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let configuration = try DashboardConfiguration.resolve(
            dashboard, environment: ProcessInfo.processInfo.environment)
        // Pages say within 20 s that a broker is silent.
        try await ServiceRunner.run("dashboard", base, store, keepAlive: .seconds(10)) { context in
            try DashboardConfiguration.checkBroker(context.configuration.mqtt)
            return [try Self.build(context, configuration)]
        }
    }
}
