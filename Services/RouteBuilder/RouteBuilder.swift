import ArgumentParser
import Foundation
import ServiceKit
import Streams

@main
struct RouteBuilder: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route-builder",
        abstract: "Stores and acknowledges locations; publishes routes, summaries and tracks.",
        version: BuildInfo.version)

    @OptionGroup var streams: StreamOptions
    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let bounds = try streams.bounds(environment: ProcessInfo.processInfo.environment)
        try await ServiceRunner.run("route-builder", base, store) { context in
            [try Self.build(context, bounds)]
        }
    }
}
