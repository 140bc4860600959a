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
        try await ServiceRunner.run("dashboard", base, store) { context in
            [try Self.build(context, configuration)]
        }
    }
}
