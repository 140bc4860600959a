import Workouts

/// Writes a workout as GPX 1.1: a track with a segment for each stretch without a pause, its points those with a place.
///
/// What was measured between them stands at the points after it, see ``Swift/Array/held(_:)``. Without any place the track is
/// empty.
struct GPXExport {
    private let workout: WorkoutRecord
    private let points: [PlacedPoint]
    private let heartRate: [Double?]
    private let cadence: [Double?]
    private let power: [Double?]
    private let temperature: [Double?]
    /// The points of each segment that has any, by their numbers.
    private let segments: [[Int]]

    static func bytes(of exported: ExportedWorkout) -> [UInt8] {
        let export = GPXExport(exported)
        var xml = XMLWriter()
        export.write(to: &xml)
        return xml.bytes
    }

    private init(_ exported: ExportedWorkout) {
        workout = exported.workout
        let active = ActiveTime(workout)
        points = exported.points.map { PlacedPoint($0, in: active) }
        heartRate = points.held(\.heartRate)
        cadence = points.held(\.cadence)
        power = points.held(\.power)
        temperature = points.held(\.temperature)
        var segments = [[Int]](repeating: [], count: active.segments.count)
        for index in points.indices where points[index].place != nil {
            if let segment = points[index].position.segment { segments[segment].append(index) }
        }
        self.segments = segments.filter { !$0.isEmpty }
    }

    private func write(to xml: inout XMLWriter) {
        let attributes: [XMLWriter.Attribute] = [
            ("xmlns", .text("http://www.topografix.com/GPX/1/1")),
            ("xmlns:gpxtpx", .text("http://www.garmin.com/xmlschemas/TrackPointExtension/v2")),
            ("xmlns:gpxpx", .text("http://www.garmin.com/xmlschemas/PowerExtension/v1")),
            ("version", .text("1.1")), ("creator", .text("Pacebus")),
        ]
        xml.element("gpx", attributes) { xml in
            xml.element("metadata") { xml in
                xml.element("name", .text(workout.name))
                xml.element("time", workout.startedAt.map(XMLWriter.Value.time))
                writeBounds(to: &xml)
            }
            xml.element("trk") { xml in
                xml.element("name", .text(workout.name))
                xml.element("type", .text(workout.activity.rawValue))
                for segment in segments {
                    xml.element("trkseg") { xml in
                        for index in segment { write(index, to: &xml) }
                    }
                }
            }
        }
    }

    private func writeBounds(to xml: inout XMLWriter) {
        let places = segments.joined().compactMap { points[$0].place }
        guard let south = places.map(\.la).min(), let north = places.map(\.la).max(),
            let west = places.map(\.lo).min(), let east = places.map(\.lo).max()
        else { return }
        let attributes = Self.attributes([
            ("minlat", south), ("minlon", west), ("maxlat", north), ("maxlon", east),
        ])
        xml.element("bounds", attributes)
    }

    private func write(_ index: Int, to xml: inout XMLWriter) {
        guard let place = points[index].place else { return }
        let point = points[index].point
        xml.element("trkpt", Self.attributes([("lat", place.la), ("lon", place.lo)])) { xml in
            xml.element("ele", .decimal(point.altitude))
            xml.element("time", .time(point.time))
            writeExtensions(index, to: &xml)
        }
    }

    private func writeExtensions(_ index: Int, to xml: inout XMLWriter) {
        let point = points[index].point
        let values: [(StaticString, XMLWriter.Value?)] = [
            ("gpxtpx:atemp", .decimal(temperature[index])),
            ("gpxtpx:hr", .whole(heartRate[index], in: 1...255)),
            ("gpxtpx:cad", .cadence(workout.activity.cadenceInFiles(cadence[index]))),
            ("gpxtpx:speed", .decimal(point.speed)),
            // North is 0.
            ("gpxtpx:course", .decimal(point.course.map { $0 > 359.9994 ? 0 : $0 })),
        ]
        let power = XMLWriter.Value.whole(power[index], in: 0...65_535)
        let isMeasured = values.contains { $0.1 != nil }
        guard isMeasured || power != nil else { return }
        xml.element("extensions") { xml in
            if isMeasured {
                xml.element("gpxtpx:TrackPointExtension") { xml in
                    for (name, value) in values { xml.element(name, value) }
                }
            }
            if let power {
                xml.element("gpxpx:PowerExtension") { xml in xml.element("gpxpx:PowerInWatts", power) }
            }
        }
    }

    private static func attributes(_ degrees: [(StaticString, Double)]) -> [XMLWriter.Attribute] {
        degrees.compactMap { name, value in
            XMLWriter.Value.decimal(value, decimals: PlacedPoint.placeDecimals).map { (name, $0) }
        }
    }
}
