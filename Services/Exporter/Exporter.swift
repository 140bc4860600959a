import ArgumentParser
import Foundation
import ServiceKit

@main
struct Exporter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exporter",
        abstract: "Writes finished workouts to files and brings them to where people want them.",
        subcommands: [Run.self, Export.self], defaultSubcommand: Run.self)
}

extension Exporter {
    /// The service.
    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Exports workouts as they are finished.")

        @OptionGroup var export: ExportOptions
        @OptionGroup var base: BaseOptions
        @OptionGroup var store: StoreOptions

        func run() async throws {
            let configuration = try ExportConfiguration.resolve(
                export, environment: ProcessInfo.processInfo.environment)
            try await ServiceRunner.run("exporter", base, store) { context in
                [
                    ExporterService(
                        context: context, configuration: configuration,
                        store: try context.openStore(ExportRecord.schema))
                ]
            }
        }
    }
}
