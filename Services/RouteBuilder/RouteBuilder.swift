import ArgumentParser
import ServiceKit
import Workouts

@main
struct RouteBuilder: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route-builder",
        abstract: "Stores and acknowledges locations; publishes routes, summaries and tracks.",
        version: pacebusVersion)

    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await ServiceRunner.run("route-builder", base, store) { context in
            [try Self.build(context)]
        }
    }
}
