import ArgumentParser
import ServiceKit
import Streams

@main
struct RouteBuilder: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route-builder",
        abstract: "Stores locations, acknowledges them, and makes routes, summaries and tracks of them.")

    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await ServiceRunner.run("route-builder", base, store) { context in
            [try StreamService<RouteWork>(context)]
        }
    }
}
