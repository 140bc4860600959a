import Workouts

/// Writes a workout as GPX 1.1: a track with a segment for each active segment, with the points that have a place.
///
/// Values measured between them count at later points, see ``TimeWeighting``. Without any place the track is empty.
struct GPXExport {
    private let exported: ExportedWorkout
    private let pieces: Pieces

    static func write(_ exported: ExportedWorkout, to pieces: Pieces) throws {
        var xml = XMLWriter()
        try GPXExport(exported: exported, pieces: pieces).write(to: &xml)
        try pieces.passAll(&xml.bytes)
    }

    private func write(to xml: inout XMLWriter) throws {
        let workout = exported.workout
        let attributes: [XMLWriter.Attribute] = [
            ("xmlns", .text("http://www.topografix.com/GPX/1/1")),
            ("xmlns:gpxtpx", .text("http://www.garmin.com/xmlschemas/TrackPointExtension/v2")),
            ("xmlns:gpxpx", .text("http://www.garmin.com/xmlschemas/PowerExtension/v1")),
            ("version", .text("1.1")), ("creator", .text("Pacebus")),
        ]
        try xml.element("gpx", attributes) { xml in
            xml.element("metadata") { xml in
                xml.element("name", .text(workout.name))
                xml.element("time", workout.startedAt.map(XMLWriter.Value.time))
                if let (southWest, northEast) = exported.survey.bounds {
                    let attributes = Self.attributes([
                        ("minlat", southWest.la), ("minlon", southWest.lo), ("maxlat", northEast.la),
                        ("maxlon", northEast.lo),
                    ])
                    xml.element("bounds", attributes)
                }
            }
            try xml.element("trk") { xml in
                xml.element("name", .text(workout.name))
                xml.element("desc", workout.note.map(XMLWriter.Value.text))
                xml.element("type", .text(workout.activity.rawValue))
                try writeSegments(to: &xml)
            }
        }
    }

    private func writeSegments(to xml: inout XMLWriter) throws {
        let active = ActiveTime(exported.workout)
        var groups = groups
        var points = exported.points
        var segment: Int?
        while let point = try points.next() {
            let placed = PlacedPoint(point, in: active)
            for index in groups.indices { groups[index].take(placed) }
            guard let place = placed.place, let next = placed.position.segment else { continue }
            if segment != next {
                if segment != nil { xml.end("trkseg") }
                xml.begin("trkseg")
                segment = next
            }
            xml.element("trkpt", Self.attributes([("lat", place.la), ("lon", place.lo)])) { xml in
                xml.element("ele", .decimal(point.altitude))
                xml.element("time", .time(point.time))
                write(groups.filter { !$0.isEmpty }, to: &xml)
            }
            try pieces.pass(&xml.bytes)
        }
        if segment != nil { xml.end("trkseg") }
    }

    private func write(_ groups: [GPXExtension], to xml: inout XMLWriter) {
        guard !groups.isEmpty else { return }
        xml.element("extensions") { xml in
            for group in groups {
                xml.element(group.name) { xml in
                    for column in group.columns { xml.element(column.element.name, column.value) }
                }
            }
        }
    }

    /// The elements of Garmin's extension, in the order of its schema.
    private static let trackPoint = ["atemp", "wtemp", "depth", "hr", "cad", "speed", "course", "bearing"]

    private var groups: [GPXExtension] {
        let activity = exported.workout.activity
        var columns: [GPXExtension.Column] = Quantity.recorded.compactMap { quantity in
            guard let element = quantity.gpx else { return nil }
            // The track has a speed at each place.
            if quantity == .speed { return .init(element) { $0.point[.speed] } }
            var weighting = TimeWeighting(quantity, exported.survey)
            return .init(element) { placed in
                let value = weighting.value(at: placed)
                return quantity == .cadence ? activity.cadenceInFiles(value) : value
            }
        }
        // North is 0.
        columns.append(
            .init(Quantity.XMLElement(name: "gpxtpx:course", whole: nil)) { placed in
                placed.point.course.map { $0 > 359.9994 ? 0 : $0 }
            })
        func place(_ column: GPXExtension.Column) -> Int? {
            Self.trackPoint.firstIndex(of: column.element.localName)
        }
        return [
            GPXExtension(
                name: "gpxtpx:TrackPointExtension",
                columns: columns.filter { place($0) != nil }.sorted { place($0)! < place($1)! }),
            GPXExtension(name: "gpxpx:PowerExtension", columns: columns.filter { place($0) == nil }),
        ]
    }

    private static func attributes(_ degrees: [(StaticString, Double)]) -> [XMLWriter.Attribute] {
        degrees.compactMap { name, value in
            XMLWriter.Value.decimal(value, decimals: PlacedPoint.placeDecimals).map { (name, $0) }
        }
    }
}

/// A group of extension elements, with the values of the current point.
private struct GPXExtension {
    struct Column {
        let element: Quantity.XMLElement
        fileprivate let read: (PlacedPoint) -> Double?
        fileprivate(set) var value: XMLWriter.Value?

        /// - Parameter read: receives all points, in their order.
        init(_ element: Quantity.XMLElement, _ read: @escaping (PlacedPoint) -> Double?) {
            self.element = element
            self.read = read
        }
    }

    let name: StaticString
    private(set) var columns: [Column]

    init(name: StaticString, columns: [Column]) {
        self.name = name
        self.columns = columns
    }

    var isEmpty: Bool { columns.allSatisfy { $0.value == nil } }

    mutating func take(_ point: PlacedPoint) {
        for index in columns.indices {
            columns[index].value = XMLWriter.Value(columns[index].element, columns[index].read(point))
        }
    }
}
