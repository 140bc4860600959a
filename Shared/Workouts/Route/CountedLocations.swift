/// The locations of a session that count: the one input of its route and of the final track.
///
/// A pure function of the stored items and the session's state: the order of arrival leaves no trace. Each source is
/// filtered by itself, and then the order of sources and their gaps decide which of the accepted fixes count. Indoor there
/// are none.
package struct CountedLocations {
    let segments: [Segment]
    let streams: [Device: [Location]]
    /// The accepted fixes that count, in the order of time, each with what it adds to the session's totals.
    let fixes: [AcceptedFix]
    /// The source of each of them, its place among ``devices``.
    let sources: [Int]
    let devices: [Device]
    /// What nobody exceeds, m/s.
    private let speedLimit: Double
    /// Metres that two devices of one person may seem to be apart.
    private static let slack = 100.0

    /// - Parameters:
    ///   - streams: every stored location of each device, in the order of their numbers.
    ///   - segments: the session's segments; an open one counts for nothing.
    package init(
        streams: [Device: [Location]], segments: [Segment], activity: Activity, environment: Environment
    ) {
        let closed = segments.filter { $0.end != nil }
        let sources =
            environment == .indoor
            ? []
            : streams.map { device, locations in
                SourceFixes(device, locations, segments: closed, activity: activity)
            }
        self.init(sources, streams: streams, segments: segments, activity: activity)
    }

    /// - Parameter sources: the fixes of each source that lie in closed segments.
    init(_ sources: [SourceFixes], streams: [Device: [Location]], segments: [Segment], activity: Activity) {
        speedLimit = activity.speedLimit
        self.segments = segments
        self.streams = streams
        let order = sources.filter { !$0.accepted.isEmpty }
            .sorted { SourceOrder.prefers($0.device, to: $1.device, for: .distance) }
        devices = order.map(\.device)
        let timeline = ActiveTimeline(segments)
        let readings = order.enumerated().map { Self.readings($1.accepted, source: $0, timeline) }
        var distances = Selection(sources: readings, total: timeline.total)
        var ascents = Selection(
            sources: Self.values(readings) { order[$0.source].accepted[$0.row].ascent }, total: timeline.total)
        var descents = Selection(
            sources: Self.values(readings) { order[$0.source].accepted[$0.row].descent }, total: timeline.total)
        distances.countDeltas()
        ascents.countDeltas()
        descents.countDeltas()
        self.sources = distances.readings.map(\.source)
        fixes = distances.readings.indices.map { index in
            let reading = distances.readings[index]
            var accepted = order[reading.source].accepted[reading.row]
            accepted.distance = reading.value
            accepted.ascent = ascents.readings[index].value
            accepted.descent = descents.readings[index].value
            return accepted
        }
    }

    private static func readings(_ accepted: [AcceptedFix], source: Int, _ timeline: ActiveTimeline) -> [Reading] {
        var previous: Timestamp?
        return accepted.indices.compactMap { row in
            let time = Timestamp(microseconds: accepted[row].fix.time)
            guard let place = timeline.place(time) else { return nil }
            defer { previous = time }
            return Reading(
                row: row, source: source, time: time, position: place.position, segmentEnd: place.segmentEnd,
                previous: previous, value: accepted[row].distance)
        }
    }

    private static func values(_ readings: [[Reading]], _ value: (Reading) -> Double) -> [[Reading]] {
        readings.map { source in
            source.map { reading in
                var reading = reading
                reading.value = value(reading)
                return reading
            }
        }
    }

    var totals: RouteTotals { fixes.reduce(into: RouteTotals()) { $0.add($1) } }

    /// Whether a line leads to a fix from the one before it: never over a pause or a jump.
    func startsLine(_ index: Int) -> Bool {
        guard index > 0, fixes[index].fix.segment == fixes[index - 1].fix.segment else { return true }
        if sources[index] == sources[index - 1] { return fixes[index].fix.startsLine }
        // Another device goes on: from where nobody gets that fast no line leads there.
        let seconds = Double(fixes[index].fix.time - fixes[index - 1].fix.time) / 1e6
        let distance = fixes[index - 1].coordinate.distance(to: fixes[index].coordinate)
        return distance > speedLimit * seconds + Self.slack
    }

    /// Where the device was, and all it said.
    func location(_ index: Int) -> Location {
        streams[devices[sources[index]]]?[Int(fixes[index].fix.number)] ?? Location()
    }

    package func summary(laps: [Timestamp], units: Units) -> RouteSummary {
        RouteSummary(self, laps: laps, units: units)
    }
}
