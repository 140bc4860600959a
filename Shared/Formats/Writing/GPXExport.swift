import Workouts

/// Writes a workout as GPX 1.1: a track with a segment for each active segment, with the points that have a place.
///
/// Values measured between them count at later points, see ``Swift/Array/timeWeighted(_:)``. Without any place the
/// track is empty.
struct GPXExport {
    private let workout: WorkoutRecord
    private let points: [PlacedPoint]
    /// The elements of each extension group, with the values at the points.
    private let extensions: [(group: StaticString, columns: [Column])]
    /// The indices of the points of each segment that has points.
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
        extensions = Self.extensions(points, workout.activity)
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

    private typealias Column = (element: Quantity.XMLElement, values: [Double?])

    /// The elements of Garmin's extension, in the order of its schema.
    private static let trackPoint = ["atemp", "wtemp", "depth", "hr", "cad", "speed", "course", "bearing"]

    private static func extensions(
        _ points: [PlacedPoint], _ activity: Activity
    ) -> [(group: StaticString, columns: [Column])] {
        var columns: [Column] = Quantity.recorded.compactMap { quantity in
            guard let element = quantity.gpx else { return nil }
            switch quantity {
            // The track has a speed at each place.
            case .speed: return (element, points.map { $0.point[.speed] })
            case .cadence: return (element, points.timeWeighted(.cadence).map { activity.cadenceInFiles($0) })
            default: return (element, points.timeWeighted(quantity))
            }
        }
        // North is 0.
        let courses = points.map { $0.point.course.map { $0 > 359.9994 ? 0 : $0 } }
        columns.append((Quantity.XMLElement(name: "gpxtpx:course", whole: nil), courses))
        func place(_ column: Column) -> Int? { trackPoint.firstIndex(of: column.element.localName) }
        return [
            ("gpxtpx:TrackPointExtension", columns.filter { place($0) != nil }.sorted { place($0)! < place($1)! }),
            ("gpxpx:PowerExtension", columns.filter { place($0) == nil }),
        ]
    }

    private func writeExtensions(_ index: Int, to xml: inout XMLWriter) {
        let groups = extensions.map { group, columns in
            (group, columns.map { ($0.element.name, XMLWriter.Value($0.element, $0.values[index])) })
        }.filter { _, values in values.contains { $0.1 != nil } }
        guard !groups.isEmpty else { return }
        xml.element("extensions") { xml in
            for (group, values) in groups {
                xml.element(group) { xml in
                    for (name, value) in values { xml.element(name, value) }
                }
            }
        }
    }

    private static func attributes(_ degrees: [(StaticString, Double)]) -> [XMLWriter.Attribute] {
        degrees.compactMap { name, value in
            XMLWriter.Value.decimal(value, decimals: PlacedPoint.placeDecimals).map { (name, $0) }
        }
    }
}
