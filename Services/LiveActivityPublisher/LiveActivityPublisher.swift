import ArgumentParser
import Foundation
import ServiceKit

@main
struct LiveActivityPublisher: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "live-activity-publisher",
        abstract: "Publishes live sessions to iOS lock screens as Live Activities, through APNs.",
        version: BuildInfo.version)

    @OptionGroup var apns: APNsOptions
    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let configuration = try APNsConfiguration.resolve(apns, environment: ProcessInfo.processInfo.environment)
        try await ServiceRunner.run("live-activity-publisher", base, store) { context in
            [try Self.build(context, configuration)]
        }
    }
}
