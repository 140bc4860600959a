import Workouts

/// Collects the tracks of a GPX file. A new `trkseg` begins after a pause. Garmin and OpenTracks add a track's totals in
/// `TrackStatsExtension`.
///
/// Elements are identified by their local names: the extensions of Garmin, Cluetrust and others differ in namespaces
/// and rarely in local names.
struct GPXReader {
    private(set) var tracks: [RecordedTrack] = []
    private var isInTrack = false
    private var sport: String?
    private var lap = RecordedTrack.Lap()
    private var point: RecordedTrack.Point?

    mutating func open(_ name: String, _ attributes: [String: String]) {
        switch name {
        case "trk": (isInTrack, sport, lap) = (true, nil, RecordedTrack.Lap())
        case "trkseg": lap.parts.append([])
        case "trkpt":
            point = RecordedTrack.Point()
            point?.latitude = attributes["lat"].flatMap { Double($0) }
            point?.longitude = attributes["lon"].flatMap { Double($0) }
        default: break
        }
    }

    mutating func close(_ name: String, in parent: String?, _ text: String) {
        switch (name, parent) {
        case ("trk", _):
            isInTrack = false
            tracks.append(RecordedTrack(sport: sport, laps: [lap]))
        case ("type", "trk"): sport = text
        case ("trkpt", _):
            if let point, !lap.parts.isEmpty { lap.parts[lap.parts.count - 1].append(point) }
            point = nil
        case ("time", "trkpt"): point?.time = Timestamp(iso8601: text)
        case ("ele", "trkpt"): point?.altitude = Double(text)
        case ("Distance", "TrackStatsExtension"): lap.totals.distance = Double(measured: text)
        case ("TimerTime", "TrackStatsExtension"): lap.totals.activeTime = Double(measured: text)
        case ("Ascent", "TrackStatsExtension"): lap.totals.ascent = Double(measured: text)
        case ("Descent", "TrackStatsExtension"): lap.totals.descent = Double(measured: text)
        default: measure(name, text)
        }
    }

    /// Takes the part of a track before a cut. Its totals are those of the whole.
    mutating func cut() {
        guard isInTrack else { return }
        lap.totals = RecordedTotals()
        tracks.append(RecordedTrack(sport: sport, laps: [lap], isCut: true))
    }

    private mutating func measure(_ name: String, _ text: String) {
        if name == "course" {
            point?.course = Double(measured: text)
        } else if let quantity = Self.quantities[name] {
            // Temperatures may be negative.
            point?.values[quantity] = quantity.range.lowerBound < 0 ? Double(text) : Double(measured: text)
        }
    }

    /// By the local names of elements, our own and those of other programs.
    private static let quantities: [String: Quantity] = {
        let ours = Quantity.recorded.compactMap { quantity in quantity.gpx.map { ($0.localName, quantity) } }
        let others: [(String, Quantity)] = [
            ("distance", .distance), ("heartrate", .heartRate), ("cadence", .cadence), ("power", .power),
            ("watts", .power), ("temp", .temperature),
        ]
        return Dictionary(uniqueKeysWithValues: ours + others)
    }()
}
