import ArgumentParser
import Foundation
import ServiceKit

@main
struct Exporter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exporter",
        abstract: "Exports finished workouts to a folder, an upload server and HealthKit.",
        version: BuildInfo.version)

    @OptionGroup var export: ExportOptions
    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let configuration = try ExportConfiguration.resolve(export, environment: ProcessInfo.processInfo.environment)
        try await ServiceRunner.run("exporter", base, store) { context in
            [try Self.build(context, configuration)]
        }
    }
}
