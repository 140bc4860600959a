import FIT
import Foundation

@testable import Workouts

/// The positions of a recording in the folder `RECORDINGS_DIR`, and the device's own totals.
struct RecordedRoute {
    let name: String
    let activity: Activity
    let segments: [Segment]
    var locations: [Location]
    /// Metres.
    let distance: Double
    /// The metres of ascent that the device counted, if it did; in laps too.
    var ascent: Double?
    var laps: [(time: ClosedRange<Timestamp>, ascent: Double)] = []

    /// Prints a note and returns `nil` without the folder.
    init?(_ name: String, _ activity: Activity) throws {
        guard let folder = ProcessInfo.processInfo.environment["RECORDINGS_DIR"] else {
            print("skipped: RECORDINGS_DIR names no folder with \(name)")
            return nil
        }
        self.name = name
        self.activity = activity
        let data = try Data(contentsOf: URL(filePath: folder).appending(path: name))
        if name.hasSuffix(".gpx") {
            let points = Self.points(String(decoding: data, as: UTF8.self))
            locations = points.map(\.location)
            segments = [Segment(start: locations[0].time!, end: locations[locations.count - 1].time!)]
            distance = points.last?.distance ?? .nan
        } else {
            let activity = try FITActivity(try FITFile([UInt8](data)))
            locations = activity.records.map { record in
                var location = Location(time: Timestamp(seconds: record.time))
                location[.latitude] = record.latitude
                location[.longitude] = record.longitude
                location[.altitude] = record.altitude
                return location
            }
            segments = activity.activeSegments.map {
                Segment(start: Timestamp(seconds: $0.lowerBound), end: Timestamp(seconds: $0.upperBound))
            }
            distance = activity.session.distance ?? .nan
            ascent = activity.session.ascent
            laps = activity.laps.compactMap { lap in
                lap.ascent.map { (Timestamp(seconds: lap.start)...Timestamp(seconds: lap.end), $0) }
            }
        }
    }

    private static func points(_ text: String) -> [(location: Location, distance: Double?)] {
        text.components(separatedBy: "<trkpt ").dropFirst().map { part in
            func value(after start: String, before end: String) -> String? {
                part.range(of: start).flatMap { start in
                    part[start.upperBound...].range(of: end).map { String(part[start.upperBound..<$0.lowerBound]) }
                }
            }
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            let date = value(after: "<time>", before: "<").flatMap { try? style.parse($0) }
            var location = Location(time: date.map { Timestamp(seconds: $0.timeIntervalSince1970) })
            location[.latitude] = value(after: "lat=\"", before: "\"").flatMap { Double($0) }
            location[.longitude] = value(after: "lon=\"", before: "\"").flatMap { Double($0) }
            location[.altitude] = value(after: "<ele>", before: "<").flatMap { Double($0) }
            return (location, value(after: "distance>", before: "<").flatMap { Double($0) })
        }
    }

    func summary(_ locations: [Location]? = nil) -> RouteSummary {
        CountedLocations(
            streams: [Device("watch-1")!: locations ?? self.locations], segments: segments, activity: activity,
            environment: .outdoor
        ).summary()
    }
}
