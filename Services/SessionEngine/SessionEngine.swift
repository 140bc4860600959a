import ArgumentParser
import Foundation
import ServiceKit

@main
struct SessionEngine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session-engine",
        abstract: "Owns the lifecycle, the timing and the finished record of every session.",
        version: BuildInfo.version)

    @OptionGroup var engine: EngineOptions
    @OptionGroup var base: BaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let asksCoach = try engine.asksCoach(environment: ProcessInfo.processInfo.environment)
        try await ServiceRunner.run("session-engine", base, store) { context in
            [try Self.build(context, asksCoach: asksCoach)]
        }
    }
}
