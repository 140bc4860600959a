import ArgumentParser
import Client
import ServiceKit
import ServiceLifecycle
import Workouts

extension Pacebus {
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Makes workouts of recorded files: FIT, TCX, GPX, also compressed with gzip.",
            discussion: """
                The same file is imported once, however often it is sent. Exits with 1 if a file was refused, and goes on \
                with the others before.
                """)

        @Argument(help: "The files.")
        var files: [String]

        @Option(help: "What to do with files that look like workouts that are there: import or skip.")
        var duplicates = Duplicates.skip

        @OptionGroup var options: UserOptions

        enum Duplicates: String, ExpressibleByArgument, CaseIterable { case `import`, skip }

        func run() async throws {
            try await ServiceRunner.runCommand("pacebus", options.base) { context in [try build(context)] }
        }

        func build(_ context: ServiceContext, terminal: Terminal = .standard) throws -> any Service {
            ImportService(
                context: context, terminal: terminal, user: try context.user(or: options.user), files: files,
                importsDuplicates: duplicates == .import)
        }
    }
}
