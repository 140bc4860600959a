import ArgumentParser
import Client
import Formats
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

extension Pacebus {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Writes a finished workout to a file, or makes the exporter deliver it again.")

        @Argument(help: "The session, a UUID.")
        var session: SessionID

        @Option(help: "The format of the file. (default: the extension of --output, else fit)")
        var format: ExportFormat?

        @Option(
            name: .shortAndLong,
            help: "The file, or - for standard output. (default: a name made of time, title and session)")
        var output: String?

        @Flag(help: "Overwrites an existing file.")
        var force = false

        @Flag(help: "Makes the exporter deliver the workout again, and waits for the outcome.")
        var again = false

        @Option(help: "With --again, the target, such as folder, upload or healthkit. (default: all targets)")
        var target: Target?

        @OptionGroup var options: UserOptions

        func validate() throws {
            if again, format != nil || output != nil || force {
                throw ValidationError("--again writes no file; remove --format, --output and --force")
            }
            guard again || target == nil else { throw ValidationError("--target requires --again") }
            guard output?.isEmpty != true else { throw ValidationError("--output is empty; use a file name or -") }
            guard format != nil || ending.isEmpty || ExportFormat(rawValue: ending) != nil else {
                let formats = ExportFormat.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("unknown export format '\(ending)'; available: \(formats); or use --format")
            }
        }

        func run() async throws {
            try await ServiceRunner.runCommand("pacebus", options.base) { context in [try build(context)] }
        }

        func build(_ context: ServiceContext, terminal: Terminal = .standard) throws -> any Service {
            let key = SessionKey(try context.user(or: options.user), session)
            guard !again else { return DeliveryService(context: context, terminal: terminal, key: key, target: target) }
            return FetchService(
                context: context, terminal: terminal, key: key, format: chosenFormat,
                output: ExportOutput(place: place, overwrites: force))
        }

        var chosenFormat: ExportFormat {
            format ?? ExportFormat(rawValue: ending) ?? .fit
        }

        /// The extension of the file's name.
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
