import Workouts

/// Collects the activities of a TCX file. A new `Track` begins after a pause, unless it is the first of a lap that
/// follows the previous lap without a gap.
struct TCXReader {
    /// The activities, those of a multi-sport session one after the other.
    private(set) var tracks: [RecordedTrack] = []
    private var lap: RecordedTrack.Lap?
    private var point: RecordedTrack.Point?
    private var isInActivity = false

    mutating func open(_ name: String, _ attributes: [String: String]) {
        switch name {
        case "Activity":
            isInActivity = true
            tracks.append(RecordedTrack(sport: attributes["Sport"]))
        // Courses and planned workouts have laps and tracks too.
        case _ where !isInActivity: break
        case "Lap": lap = RecordedTrack.Lap(start: attributes["StartTime"].flatMap(Timestamp.init(iso8601:)))
        case "Track": lap?.parts.append([])
        case "Trackpoint": point = RecordedTrack.Point()
        default: break
        }
    }

    mutating func close(_ name: String, in parent: String?, _ text: String) {
        guard isInActivity else { return }
        switch (name, parent) {
        case ("Activity", _): isInActivity = false
        case ("Lap", _):
            if let lap { tracks[tracks.count - 1].laps.append(lap) }
            lap = nil
        case ("TotalTimeSeconds", "Lap"): lap?.totals.activeTime = Double(measured: text)
        case ("DistanceMeters", "Lap"): lap?.totals.distance = Double(measured: text)
        case ("Calories", "Lap"): lap?.totals.energy = Double(measured: text)
        case ("Value", "AverageHeartRateBpm"): lap?.totals.averageHeartRate = Double(measured: text)
        case ("Trackpoint", _): closePoint()
        case ("Time", "Trackpoint"): point?.time = Timestamp(iso8601: text)
        case ("DistanceMeters", "Trackpoint"): point?.values[.distance] = Double(measured: text)
        case ("LatitudeDegrees", "Position"): point?.latitude = Double(text)
        case ("LongitudeDegrees", "Position"): point?.longitude = Double(text)
        case ("AltitudeMeters", "Trackpoint"): point?.altitude = Double(text)
        case ("Value", "HeartRateBpm"): point?.values[.heartRate] = Double(measured: text)
        case ("Cadence", "Trackpoint"): point?.values[.cadence] = Double(measured: text)
        case ("RunCadence", _): point?.strides = Double(measured: text)
        default:
            if let quantity = Self.extensions[name] {
                point?.values[quantity] = quantity.range.lowerBound < 0 ? Double(text) : Double(measured: text)
            }
        }
    }

    /// Takes the part of an activity before a cut. The totals of its last lap are those of the whole.
    mutating func cut() {
        guard isInActivity else { return }
        tracks[tracks.count - 1].isCut = true
        guard var lap else { return }
        lap.totals = RecordedTotals()
        tracks[tracks.count - 1].laps.append(lap)
    }

    /// The quantities in extensions, by the local names of their elements.
    private static let extensions = Dictionary(
        uniqueKeysWithValues: Quantity.recorded.compactMap { quantity in
            quantity.tcx.flatMap { $0.isExtension ? ($0.localName, quantity) : nil }
        })

    private mutating func closePoint() {
        defer { point = nil }
        guard let point, point.time != nil, let count = lap?.parts.count, count > 0 else { return }
        lap?.parts[count - 1].append(point)
    }
}
