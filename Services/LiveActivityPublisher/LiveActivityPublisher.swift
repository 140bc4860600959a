import ArgumentParser
import Foundation
import ServiceKit

@main
struct LiveActivityPublisher: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "live-activity-publisher",
        abstract: "Shows live sessions on the lock screens of phones, through Apple's push service.")

    @OptionGroup var apns: APNsOptions
    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let configuration = try APNsConfiguration.resolve(apns, environment: ProcessInfo.processInfo.environment)
        try await ServiceRunner.run("live-activity-publisher", base, store) { context in
            [
                LiveActivityPublisherService(
                    context: context, configuration: configuration,
                    store: try context.openStore(ActivityRecord.schema))
            ]
        }
    }
}
