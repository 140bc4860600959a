import ArgumentParser
import ServiceKit
import Streams

@main
struct MetricsAggregator: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics-aggregator",
        abstract: "Stores samples, acknowledges them, and makes live metrics, summaries and series of them.")

    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await ServiceRunner.run("metrics-aggregator", base, store) { context in
            [try StreamService<SampleWork>(context)]
        }
    }
}
