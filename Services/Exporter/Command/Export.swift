import ArgumentParser
import Formats
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

extension Exporter {
    /// A client of the running system.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Fetches a finished workout into a file, or has it delivered again.",
            discussion: """
                The broker's account must be allowed to read the user's topics and to write requests. Exits with 1 and \
                one line when there is no such workout, or it cannot be delivered.
                """)

        @Argument(help: "Whose workout it is: lowercase letters, digits, - and _.")
        var user: User

        @Argument(help: "The session, a lowercase UUID.")
        var session: SessionID

        @Option(help: "How the file is written; by default what its name ends in, else fit.")
        var format: ExportFormat?

        @Option(
            name: .shortAndLong,
            help: "The file, or - for standard output; by default named after the workout, in the current folder.")
        var output: String?

        @Flag(help: "Overwrites a file that exists.")
        var force = false

        @Flag(help: "Has the running exporter deliver the workout again, and waits for the outcome.")
        var again = false

        @Option(help: "With --again: the export target, such as folder; all by default.")
        var target: Target?

        @OptionGroup var base: BaseOptions

        func validate() throws {
            if again, format != nil || output != nil || force {
                throw ValidationError("--again: writes no file, --format, --output and --force go without it")
            }
            guard again || target == nil else { throw ValidationError("--target: is for --again only") }
            if let target, !ExportTargets.all.contains(where: { $0.name == target }) {
                let names = ExportTargets.all.map { "\($0.name)" }.joined(separator: ", ")
                throw ValidationError("--target: unknown export target '\(target)'; available: \(names)")
            }
            guard output?.isEmpty != true else { throw ValidationError("--output: expected a file, or -") }
            guard format != nil || ending.isEmpty || ExportFormat(rawValue: ending) != nil else {
                let formats = ExportFormat.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--output: no format is called .\(ending); --format names one of \(formats)")
            }
        }

        func run() async throws {
            // The port named in the environment is the service's, beside which this may run.
            var base = base
            base.httpPort = base.httpPort ?? "0"
            try await ServiceRunner.run("exporter", base) { context in [build(context)] }
        }

        func build(_ context: ServiceContext, terminal: Terminal = .standard) -> any Service {
            let key = SessionKey(user, session)
            guard !again else { return AgainService(context: context, terminal: terminal, key: key, target: target) }
            return FetchService(
                context: context, terminal: terminal, key: key, format: chosenFormat,
                output: ExportOutput(place: place, overwrites: force))
        }

        var chosenFormat: ExportFormat {
            format ?? ExportFormat(rawValue: ending) ?? .fit
        }

        /// What the file's name ends in.
        private var ending: String { output.map { URL(filePath: $0).pathExtension.lowercased() } ?? "" }

        private var place: ExportOutput.Place {
            switch output {
            case nil: .folder(FileManager.default.currentDirectoryPath)
            case "-": .standardOutput
            case let path?: .file(path)
            }
        }
    }
}

extension ExportFormat: ExpressibleByArgument {}
