import ArgumentParser
import ServiceKit

@main
struct VirtualRun: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "virtual-run", abstract: "Shows runners in different places each other.",
        version: BuildInfo.version)

    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        // Figures go out every 2 s, and a batch costs more than a snapshot.
        try await ServiceRunner.run("virtual-run", base, store, batchInterval: .milliseconds(100)) { context in
            [try Self.build(context)]
        }
    }
}
