import Workouts

/// Collects the first activity of a TCX file. A new `Track` begins after a pause, unless it is the first of a lap that
/// follows the previous lap without a gap.
struct TCXReader {
    /// Seconds between two laps that are no pause: times in TCX are often whole seconds.
    private static let lapTolerance = 1.0

    private struct Lap {
        var start: Timestamp?
        /// Seconds without pauses.
        var duration = 0.0
        /// Seconds between its tracks.
        var pauses = 0.0
        var hasTrack = false

        /// The end according to its duration and pauses.
        var end: Timestamp? { start.map { $0 + (duration + pauses) } }
    }

    private(set) var track = RecordedTrack()
    private var lap = Lap()
    private var previousLap: Lap?
    private var point: RecordedTrack.Point?
    /// The newest time of any point.
    private var newest: Timestamp?
    /// Whether the first time of a new track will determine the length of the pause before it.
    private var isAfterPause = false
    private var isInActivity = false
    private var isComplete = false

    mutating func open(_ name: String, _ attributes: [String: String]) {
        guard !isComplete else { return }
        switch name {
        case "Activity":
            isInActivity = true
            track.sport = attributes["Sport"]
        case "Lap":
            lap = Lap(start: attributes["StartTime"].flatMap(Timestamp.init(iso8601:)))
            if track.start == nil { track.start = lap.start }
        case "Track" where isInActivity: openTrack()
        case "Trackpoint": point = RecordedTrack.Point()
        default: break
        }
    }

    mutating func close(_ name: String, in parent: String?, _ text: String) {
        guard isInActivity, !isComplete else { return }
        switch (name, parent) {
        case ("Activity", _): isComplete = true
        case ("Lap", _): previousLap = lap
        case ("TotalTimeSeconds", "Lap"): lap.duration = Double(measured: text) ?? 0
        case ("DistanceMeters", "Lap"): track.distance = (track.distance ?? 0) + (Double(measured: text) ?? 0)
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

    /// The quantities in extensions, by the local names of their elements.
    private static let extensions = Dictionary(
        uniqueKeysWithValues: Quantity.recorded.compactMap { quantity in
            quantity.tcx.flatMap { $0.isExtension ? ($0.localName, quantity) : nil }
        })

    private mutating func openTrack() {
        if lap.hasTrack {
            isAfterPause = true
            track.parts.append([])
        } else if !followsPreviousLap {
            track.parts.append([])
        }
        lap.hasTrack = true
    }

    private var followsPreviousLap: Bool {
        guard !track.parts.isEmpty, let start = lap.start,
            let end = [previousLap?.end, newest].compactMap(\.self).max()
        else { return false }
        return start.seconds(since: end) <= Self.lapTolerance
    }

    private mutating func closePoint() {
        defer { point = nil }
        guard let point, let time = point.time, !track.parts.isEmpty else { return }
        if isAfterPause, let newest { lap.pauses += max(0, time.seconds(since: newest)) }
        isAfterPause = false
        newest = max(newest ?? time, time)
        track.parts[track.parts.count - 1].append(point)
    }
}
