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

    /// Whether the interpreter lacks fitdecode.
    package static let isMissing = Python.lacks("fitdecode")

    /// Whether the interpreter lacks any of the three.
    package static let isAnyMissing = Python.lacks("fitdecode, fitparse, garmin_fit_sdk")

    /// What fitdecode reads.
    package static func summary(of file: URL) async throws -> Summary {
        let output = try await ChildProcess.output(of: [Python.interpreter, script, file.path(percentEncoded: false)])
        return try JSONDecoder().decode([Summary].self, from: output)[0]
    }

    /// What each of the three reads, by its name; throws when one of them finds a wrong checksum or an error.
    package static func summaries(of file: URL) async throws -> [String: Summary] {
        let output = try await ChildProcess.output(of: [
            Python.interpreter, script, "--all", file.path(percentEncoded: false),
        ])
        return try JSONDecoder().decode([String: Summary].self, from: output)
    }

    private static let script = Python.program("fit_summary.py")
}
