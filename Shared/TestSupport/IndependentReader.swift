package import Foundation

/// What PyPI's fitdecode reads in a FIT file, by way of `fit_summary.py` and the interpreter that `PYTHON` names.
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

        package let messages: Int
        package let sessions: [Fields]
        package let laps: [Fields]
        package let records: [Fields]
        package let timer: [TimerEvent]
    }

    private static let interpreter = ProcessInfo.processInfo.environment["PYTHON"] ?? "python3"
    /// Whether the interpreter lacks fitdecode.
    package static let isMissing = (try? run(["-c", "import fitdecode"])) == nil

    package static func summary(of file: URL) throws -> Summary {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "fit_summary.py")
        let output = try run([script.path(percentEncoded: false), file.path(percentEncoded: false)])
        return try JSONDecoder().decode([Summary].self, from: output)[0]
    }

    private struct Failure: Error {
        let status: Int32
    }

    /// What the interpreter prints; throws when it fails.
    private static func run(_ arguments: [String]) throws -> Data {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [interpreter] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(status: process.terminationStatus) }
        return data
    }
}
