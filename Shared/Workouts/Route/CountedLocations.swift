/// The locations of a session that count: the input of its route and its final track.
///
/// A pure function of stored items and session state; the order of arrival has no effect. Each source is filtered by
/// itself. Then the order of sources and their gaps choose among the accepted fixes. Indoor sessions have none.
package struct CountedLocations {
    let segments: [Segment]
    let streams: [Device: [Location]]
    /// The accepted fixes that count, sorted by time, each with its share of the session's totals.
    let fixes: [AcceptedFix]
    /// For each fix the index of its source in ``devices``.
    let sources: [Int]
    let devices: [Device]
    /// The speed in m/s that no accepted fix exceeds.
    private let speedLimit: Double
    /// Metres between two devices of one person that may be measurement error.
    private static let slack = 100.0

    /// - Parameters:
    ///   - streams: all stored locations of each device, sorted by number.
    ///   - segments: the session's segments; an open one counts nothing.
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

    /// - Parameter sources: each source's fixes in closed segments.
    init(_ sources: [SourceFixes], streams: [Device: [Location]], segments: [Segment], activity: Activity) {
        speedLimit = activity.speedLimit
        self.segments = segments
        self.streams = streams
        let order = sources.filter { !$0.accepted.isEmpty }
            .sorted { SourceOrder.prefers($0.device, to: $1.device, for: .distance) }
        devices = order.map(\.device)
        let timeline = ActiveTimeline(segments)
        let readings = order.enumerated().map { Self.readings($1.accepted, source: $0, timeline) }
        var distances = Selection(sources: readings, timeline: timeline)
        var ascents = Selection(
            sources: Self.values(readings) { order[$0.source].accepted[$0.row].ascent }, timeline: timeline)
        var descents = Selection(
            sources: Self.values(readings) { order[$0.source].accepted[$0.row].descent }, timeline: timeline)
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
            guard timeline.place(time) != nil else { return nil }
            defer { previous = time }
            return Reading(
                row: row, source: source, time: time, previous: previous, value: accepted[row].distance)
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

    /// Whether a fix starts a new line: after a pause or a jump.
    func startsLine(_ index: Int) -> Bool {
        guard index > 0, fixes[index].fix.segment == fixes[index - 1].fix.segment else { return true }
        if sources[index] == sources[index - 1] { return fixes[index].fix.startsLine }
        // Another device continues. A distance beyond the speed limit starts a new line.
        let seconds = Double(fixes[index].fix.time - fixes[index - 1].fix.time) / 1e6
        let distance = fixes[index - 1].coordinate.distance(to: fixes[index].coordinate)
        return distance > speedLimit * seconds + Self.slack
    }

    /// The location behind a fix, with all its fields.
    func location(_ index: Int) -> Location {
        streams[devices[sources[index]]]?[Int(fixes[index].fix.number)] ?? Location()
    }

    package func summary(laps: [Timestamp], units: Units) -> RouteSummary {
        RouteSummary(self, laps: laps, units: units)
    }
}
