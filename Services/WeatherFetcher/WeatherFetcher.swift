import ArgumentParser
import Foundation
import ServiceKit

@main
struct WeatherFetcher: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "weather-fetcher", abstract: "Fetches the weather at the places of live sessions.",
        version: BuildInfo.version)

    @OptionGroup var weather: WeatherOptions
    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let weather = try WeatherConfiguration.resolve(
            weather, environment: ProcessInfo.processInfo.environment)
        try await ServiceRunner.run("weather-fetcher", base, store) { context in [try Self.build(context, weather)] }
    }
}
