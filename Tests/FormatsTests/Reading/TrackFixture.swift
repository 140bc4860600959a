import Foundation

@testable import Formats

extension XMLRecording {
    /// The first track; an empty one if there is none.
    var track: RecordedTrack { tracks.first ?? RecordedTrack() }
}

/// Text of GPX and TCX files for tests.
enum TrackFixture {
    /// A track with a segment for each of `parts`, the XML of its points.
    static func gpx(type: String? = "running", totals: [String: Double] = [:], _ parts: [[String]]) -> String {
        let stats = totals.map { "<gpxtrkx:\($0)>\($1)</gpxtrkx:\($0)>" }.joined()
        let segments = parts.map { "<trkseg>\($0.joined(separator: "\n"))</trkseg>" }.joined(separator: "\n")
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <gpx version="1.1" creator="tests" xmlns="http://www.topografix.com/GPX/1/1"
              xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2"
              xmlns:gpxtrkx="http://www.garmin.com/xmlschemas/TrackStatsExtension/v1"
              xmlns:gpxdata="http://www.cluetrust.com/XML/GPXDATA/1/0">
            <metadata><time>2001-01-01T00:00:00Z</time></metadata>
            <trk><name>Morning</name>\(type.map { "<type>\($0)</type>" } ?? "")
            <extensions><gpxtrkx:TrackStatsExtension>\(stats)</gpxtrkx:TrackStatsExtension></extensions>
            \(segments)</trk></gpx>
            """
    }

    static func point(_ second: Double, latitude: Double = 47.2, _ extensions: String = "") -> String {
        """
        <trkpt lat="\(latitude)" lon="9.04"><ele>787</ele><time>\(time(second))</time>
        <extensions>\(extensions)</extensions></trkpt>
        """
    }

    /// Fixture time: seconds since 2023-11-14T22:13:20Z.
    static let start = 1_700_000_000.0

    static func time(_ second: Double) -> String {
        Date(timeIntervalSince1970: start + second).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// A lap with a track for each of `tracks`.
    static func lap(_ second: Double, duration: Double, distance: Double? = nil, _ tracks: [[String]]) -> String {
        let tracks = tracks.map { "<Track>\($0.joined(separator: "\n"))</Track>" }.joined(separator: "\n")
        return """
            <Lap StartTime="\(time(second))"><TotalTimeSeconds>\(duration)</TotalTimeSeconds>
            \(distance.map { "<DistanceMeters>\($0)</DistanceMeters>" } ?? "")<Calories>9</Calories>
            <AverageHeartRateBpm><Value>99</Value></AverageHeartRateBpm><Cadence>11</Cadence>\(tracks)</Lap>
            """
    }

    static func trackpoint(_ second: Double, distance: Double? = nil, _ more: String = "") -> String {
        """
        <Trackpoint><Time>\(time(second))</Time>
        \(distance.map { "<DistanceMeters>\($0)</DistanceMeters>" } ?? "")\(more)</Trackpoint>
        """
    }

    static func tcx(sport: String = "Running", _ laps: [String]) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"
          xmlns:ns3="http://www.garmin.com/xmlschemas/ActivityExtension/v2"><Activities>
        <Activity Sport="\(sport)"><Id>\(time(0))</Id>\(laps.joined(separator: "\n"))</Activity>
        </Activities></TrainingCenterDatabase>
        """
    }
}
