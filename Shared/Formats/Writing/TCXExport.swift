import Workouts

/// Writes a workout as TCX: one activity, its laps, a track for each active segment.
///
/// Every point has its own time. A segment's start and end without measurements become points with a time only, so that
/// a reader finds the pauses.
struct TCXExport {
    private let workout: WorkoutRecord
    private let laps: [TCXLap]

    static func write(_ exported: ExportedWorkout, to pieces: Pieces) throws {
        let active = ActiveTime(exported.workout)
        let export = TCXExport(workout: exported.workout, laps: TCXLap.laps(of: exported, active))
        var xml = XMLWriter()
        try export.write(TCXTrack(exported, active), to: &xml, pieces)
        try pieces.passAll(&xml.bytes)
    }

    private func write(_ track: TCXTrack, to xml: inout XMLWriter, _ pieces: Pieces) throws {
        let namespaces: [XMLWriter.Attribute] = [
            ("xmlns", .text("http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2")),
            ("xmlns:ns3", .text("http://www.garmin.com/xmlschemas/ActivityExtension/v2")),
            ("xmlns:xsi", .text("http://www.w3.org/2001/XMLSchema-instance")),
        ]
        try xml.element("TrainingCenterDatabase", namespaces) { xml in
            try xml.element("Activities") { xml in
                try xml.element("Activity", [("Sport", .text(workout.activity.tcx))]) { xml in
                    xml.element("Id", .time(laps[0].start))
                    try writeLaps(track, to: &xml, pieces)
                    // The format has no name.
                    xml.element(
                        "Notes", .text([workout.name, workout.note].compactMap(\.self).joined(separator: "\n\n")))
                    writeCreator(to: &xml)
                }
            }
        }
    }

    private func writeCreator(to xml: inout XMLWriter) {
        xml.element("Creator", [("xsi:type", .text("Device_t"))]) { xml in
            xml.element("Name", .text("Pacebus"))
            xml.element("UnitId", .text("0"))
            xml.element("ProductID", .text("0"))
            let version = pacebusVersion.split(separator: ".").compactMap { Int64($0) }
            xml.element("Version") { xml in
                for (name, number) in zip(["VersionMajor", "VersionMinor"] as [StaticString], version) {
                    xml.element(name, .number(FixedPoint(scaled: number, decimals: 0)))
                }
            }
        }
    }

    /// Writes the laps with their points. A pause begins a new track.
    private func writeLaps(_ track: TCXTrack, to xml: inout XMLWriter, _ pieces: Pieces) throws {
        var (points, lap) = (track, 0)
        /// The segment of the open track.
        var segment: Int?
        begin(laps[lap], to: &xml)
        while let point = try points.next() {
            // Laps that are not in order of time still follow one another in the file.
            let isLater = point.position.lap > lap
            if segment != nil, segment != point.position.segment || isLater {
                xml.end("Track")
                segment = nil
            }
            while lap < point.position.lap {
                end(laps[lap], to: &xml)
                lap += 1
                begin(laps[lap], to: &xml)
            }
            if segment == nil { xml.begin("Track") }
            segment = point.position.segment
            write(point, to: &xml)
            try pieces.pass(&xml.bytes)
        }
        if segment != nil { xml.end("Track") }
        end(laps[lap], to: &xml)
        for lap in laps[(lap + 1)...] {
            begin(lap, to: &xml)
            end(lap, to: &xml)
        }
    }

    /// Begins a lap with what precedes its tracks.
    private func begin(_ lap: TCXLap, to xml: inout XMLWriter) {
        xml.begin("Lap", [("StartTime", .time(lap.start))])
        xml.element("TotalTimeSeconds", .measured(lap.duration))
        xml.element("DistanceMeters", .measured(lap.distance))
        xml.element("MaximumSpeed", .decimal(lap.maximumSpeed))
        // Readers of the format require this element.
        xml.element("Calories", .whole(lap.activeEnergy, in: 0...65_535) ?? .text("0"))
        writeHeartRate(lap.averageHeartRate, as: "AverageHeartRateBpm", to: &xml)
        writeHeartRate(lap.maximumHeartRate, as: "MaximumHeartRateBpm", to: &xml)
        xml.element("Intensity", .text("Active"))
        if !workout.activity.countsStrides { xml.element("Cadence", .cadence(lap.averageCadence)) }
        xml.element("TriggerMethod", .text("Manual"))
    }

    private func end(_ lap: TCXLap, to xml: inout XMLWriter) {
        writeExtension(
            "ns3:LX",
            [
                ("ns3:AvgSpeed", .decimal(lap.averageSpeed)),
                ("ns3:AvgRunCadence", workout.activity.countsStrides ? .cadence(lap.averageCadence) : nil),
                ("ns3:Steps", .whole(lap.steps, in: 0...65_535)),
                ("ns3:AvgWatts", .whole(lap.averagePower, in: 0...65_535)),
                ("ns3:MaxWatts", .whole(lap.maximumPower, in: 0...65_535)),
            ], to: &xml)
        xml.end("Lap")
    }

    private func write(_ placed: PlacedPoint, to xml: inout XMLWriter) {
        let point = placed.point
        xml.element("Trackpoint") { xml in
            xml.element("Time", .time(point.time))
            if let place = placed.place {
                xml.element("Position") { xml in
                    xml.element("LatitudeDegrees", .decimal(place.la, decimals: PlacedPoint.placeDecimals))
                    xml.element("LongitudeDegrees", .decimal(place.lo, decimals: PlacedPoint.placeDecimals))
                }
            }
            xml.element("AltitudeMeters", .decimal(point.altitude))
            xml.element("DistanceMeters", .decimal(point[.distance]))
            writeHeartRate(point[.heartRate], as: "HeartRateBpm", to: &xml)
            let cadence = XMLWriter.Value.cadence(workout.activity.cadenceInFiles(point[.cadence]))
            if !workout.activity.countsStrides { xml.element("Cadence", cadence) }
            writeExtension(
                "ns3:TPX",
                Self.extensions.map { quantity, element in
                    guard quantity == .cadence else { return (element.name, .init(element, point[quantity])) }
                    return (element.name, workout.activity.countsStrides ? cadence : nil)
                }, to: &xml)
        }
    }

    /// The quantities of a point that TCX has in an extension, in the order of its schema.
    private static let extensions: [(Quantity, Quantity.XMLElement)] = Quantity.recorded.compactMap { quantity in
        quantity.tcx.flatMap { $0.isExtension ? (quantity, $0) : nil }
    }

    private func writeHeartRate(_ rate: Double?, as name: StaticString, to xml: inout XMLWriter) {
        guard let rate = XMLWriter.Value.whole(rate, in: 1...255) else { return }
        xml.element(name) { xml in xml.element("Value", rate) }
    }

    private func writeExtension(
        _ name: StaticString, _ values: [(StaticString, XMLWriter.Value?)], to xml: inout XMLWriter
    ) {
        guard values.contains(where: { $0.1 != nil }) else { return }
        xml.element("Extensions") { xml in
            xml.element(name) { xml in
                for (name, value) in values { xml.element(name, value) }
            }
        }
    }
}
