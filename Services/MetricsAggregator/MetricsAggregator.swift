import ArgumentParser
import Foundation
import ServiceKit
import Streams

@main
struct MetricsAggregator: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics-aggregator",
        abstract: "Stores and acknowledges samples; publishes live metrics, summaries and series.",
        version: BuildInfo.version)

    @OptionGroup var streams: StreamOptions
    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let bounds = try streams.bounds(environment: ProcessInfo.processInfo.environment)
        try await ServiceRunner.run("metrics-aggregator", base, store) { context in
            [try Self.build(context, bounds)]
        }
    }
}
