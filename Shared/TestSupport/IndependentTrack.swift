import Foundation

/// Reads GPX and TCX files with Python's ElementTree, through `track_summary.py`.
package enum IndependentTrack {
    package struct Point: Decodable, Equatable, Sendable {
        /// Unix seconds.
        package let time: Double
        /// Metres since the start of the recording.
        package let distance: Double?
        package let heartRate: Double?
        /// Degrees.
        package let latitude: Double?
        package let longitude: Double?
        /// Metres.
        package let altitude: Double?

        package init(
            time: Double, distance: Double? = nil, heartRate: Double? = nil, latitude: Double? = nil,
            longitude: Double? = nil, altitude: Double? = nil
        ) {
            self.time = time
            self.distance = distance
            self.heartRate = heartRate
            self.latitude = latitude
            self.longitude = longitude
            self.altitude = altitude
        }
    }

    /// The points of each part: each `trkseg` or `Track`.
    package static func parts(of path: String) async throws -> [[Point]] {
        let output = try await ChildProcess.output(
            of: [Python.interpreter, Python.program("track_summary.py"), path])
        return try JSONDecoder().decode([[Point]].self, from: output)
    }
}
