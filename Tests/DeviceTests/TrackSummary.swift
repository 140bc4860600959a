import Foundation

/// What Python's ElementTree reads in a GPX or TCX file, by way of `track_summary.py`: the points of each part.
struct TrackSummary {
    struct Point: Decodable {
        /// Unix seconds.
        let time: Double
        /// Metres since the recording began.
        let distance: Double?
        let heartRate: Double?
        /// Degrees.
        let latitude: Double?
        let longitude: Double?
        /// Metres.
        let altitude: Double?
    }

    let parts: [[Point]]
    var points: [Point] { parts.flatMap(\.self) }

    init(_ path: String) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "track_summary.py")
        process.arguments = [
            ProcessInfo.processInfo.environment["PYTHON"] ?? "python3", script.path(percentEncoded: false), path,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        parts = try JSONDecoder().decode([[Point]].self, from: data)
    }
}
