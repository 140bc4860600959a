package import Foundation

/// What PyPI's fitdecode, fitparse and garmin-fit-sdk read in a FIT file, by way of `fit_summary.py` and the interpreter that `PYTHON` names.
package struct IndependentReader {
    package struct Summary: Decodable, Sendable {
        package typealias Fields = [String: Double]

        package struct TimerEvent: Decodable, Equatable, Sendable {
            package let time: Double
            package let type: String

            package init(from decoder: any Decoder) throws {
                var pair = try decoder.unkeyedContainer()
                time = try pair.decode(Double.self)
                type = try pair.decode(String.self)
            }
        }

        /// A set or a rest, its codes by the reader's names for them.
        package struct ExerciseSet: Decodable, Equatable, Sendable {
            package let index: Int
            package let kind: String
            package let start: Double
            package let end: Double
            package let duration: Double
            package let repetitions: Int?
            package let weight: Double?
            package let category: String?
            package let number: Int?
        }

        /// What people call an exercise.
        package struct Title: Decodable, Equatable, Sendable {
            package let index: Int
            package let category: String
            package let number: Int
            package let text: String
        }

        package let messages: Int
        package let sessions: [Fields]
        package let laps: [Fields]
        package let records: [Fields]
        package let timer: [TimerEvent]
        package let sets: [ExerciseSet]
        package let titles: [Title]

        /// The title that a set's exercise has.
        package func title(of set: ExerciseSet) -> String? {
            titles.first { $0.category == set.category && $0.number == set.number }?.text
        }
    }

    static let interpreter = ProcessInfo.processInfo.environment["PYTHON"] ?? "python3"
    /// Whether the interpreter lacks fitdecode.
    package static let isMissing = (try? run(["-c", "import fitdecode"])) == nil

    /// Whether the interpreter lacks any of the three.
    package static let isAnyMissing = (try? run(["-c", "import fitdecode, fitparse, garmin_fit_sdk"])) == nil

    /// What fitdecode reads.
    package static func summary(of file: URL) async throws -> Summary {
        let output = try await ChildProcess.output(of: [interpreter, script, file.path(percentEncoded: false)])
        return try JSONDecoder().decode([Summary].self, from: output)[0]
    }

    /// What each of the three reads, by its name; throws when one of them finds a wrong checksum or an error.
    package static func summaries(of file: URL) async throws -> [String: Summary] {
        let output = try await ChildProcess.output(of: [interpreter, script, "--all", file.path(percentEncoded: false)])
        return try JSONDecoder().decode([String: Summary].self, from: output)
    }

    private static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "fit_summary.py")
        .path(percentEncoded: false)

    private struct Failure: Error {
        let status: Int32
    }

    /// Runs the interpreter for a moment; throws when it fails.
    private static func run(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [interpreter] + arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(status: process.terminationStatus) }
    }
}
