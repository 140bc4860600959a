import ArgumentParser
import ServiceKit
import Workouts

@main
struct VirtualRun: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "virtual-run", abstract: "Shows runners in different places each other.",
        version: pacebusVersion)

    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await ServiceRunner.run("virtual-run", base, store) { context in [try Self.build(context)] }
    }
}
