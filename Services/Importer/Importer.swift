import ArgumentParser
import ServiceKit

@main
struct Importer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "importer", abstract: "Makes workouts of the files that people upload.", version: BuildInfo.version
    )

    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await ServiceRunner.run("importer", base, store) { context in [try Self.build(context)] }
    }
}
