package import Foundation

/// Reads FIT files with fitdecode, fitparse and garmin-fit-sdk from PyPI, through `fit_summary.py` and the interpreter
/// in `PYTHON`.
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

        /// A set or a rest; codes have the reader's names.
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

        /// The display name of an exercise.
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

        /// The title of a set's exercise.
        package func title(of set: ExerciseSet) -> String? {
            titles.first { $0.category == set.category && $0.number == set.number }?.text
        }
    }

    /// Whether the interpreter lacks fitdecode.
    package static let isMissing = Python.lacks("fitdecode")

    /// Whether the interpreter lacks any of the three modules.
    package static let isAnyMissing = Python.lacks("fitdecode, fitparse, garmin_fit_sdk")

    /// Reads the file with fitdecode.
    package static func summary(of file: URL) async throws -> Summary {
        let output = try await ChildProcess.output(of: [Python.interpreter, script, file.path(percentEncoded: false)])
        return try JSONDecoder().decode([Summary].self, from: output)[0]
    }

    /// Reads the file with all three readers. Throws if one of them reports a wrong checksum or an error.
    package static func summaries(of file: URL) async throws -> [String: Summary] {
        let output = try await ChildProcess.output(of: [
            Python.interpreter, script, "--all", file.path(percentEncoded: false),
        ])
        return try JSONDecoder().decode([String: Summary].self, from: output)
    }

    /// A field of a record; a developer field has no number.
    package struct Field: Decodable, Sendable {
        package let name: String
        package let number: UInt8?
        package let values: [Double]
    }

    /// The fields of each record, by the reader's name.
    package static func fields(of file: URL) async throws -> [String: [[Field]]] {
        let output = try await ChildProcess.output(of: [
            Python.interpreter, script, "--fields", file.path(percentEncoded: false),
        ])
        return try JSONDecoder().decode([String: [[Field]]].self, from: output)
    }

    /// Writes a run of a record a second with garmin-fit-sdk.
    ///
    /// - Parameters:
    ///   - start: Unix seconds.
    ///   - columns: fields of the profile by its names, in its units.
    ///   - developer: a developer's fields, with the values of each record.
    package static func write(
        _ file: URL, start: Int, columns: [String: [Double]], developer: [String: [[Double]]]
    ) async throws {
        struct Columns: Encodable {
            let start: Int
            let columns: [String: [Double]]
            let developer: [String: [[Double]]]
        }
        let values = try JSONEncoder().encode(Columns(start: start, columns: columns, developer: developer))
        _ = try await ChildProcess.output(of: [
            Python.interpreter, script, "--write", file.path(percentEncoded: false),
            String(decoding: values, as: UTF8.self),
        ])
    }

    private static let script = Python.program("fit_summary.py")
}
