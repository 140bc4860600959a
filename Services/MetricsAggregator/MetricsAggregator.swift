import ArgumentParser
import ServiceKit
import Workouts

@main
struct MetricsAggregator: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics-aggregator",
        abstract: "Stores and acknowledges samples; publishes live metrics, summaries and series.",
        version: pacebusVersion)

    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await ServiceRunner.run("metrics-aggregator", base, store) { context in
            [try Self.build(context)]
        }
    }
}
