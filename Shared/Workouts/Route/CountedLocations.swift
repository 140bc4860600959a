/// The locations of a session that count: the input of its route and its final track.
///
/// A pure function of stored items and session state; the order of arrival has no effect. Each source is filtered by
/// itself. Then the order of sources and their gaps choose among the accepted fixes. Indoor sessions have none.
package struct CountedLocations {
    let segments: [Segment]
    private let streams: [Device: ItemSource<Location>]
    /// The accepted fixes that count, sorted by time, each with its share of the session's totals.
    let fixes: CountedFixes
    /// The devices of ``fixes``, preferred device first.
    let devices: [Device]
    /// The speed in m/s that no accepted fix exceeds.
    private let speedLimit: Double
    /// Metres between two devices of one person that may be measurement error.
    private static let slack = 100.0
    static let noFix = UInt32.max

    /// - Parameters:
    ///   - streams: all stored locations of each device, sorted by number.
    ///   - segments: the session's segments; an open one counts nothing.
    package init(
        streams: [Device: ItemSource<Location>], segments: [Segment], activity: Activity, environment: Environment
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

    package init(
        streams: [Device: [Location]], segments: [Segment], activity: Activity, environment: Environment
    ) {
        self.init(
            streams: streams.mapValues { ItemSource($0) }, segments: segments, activity: activity,
            environment: environment)
    }

    /// - Parameter sources: each source's fixes in closed segments.
    init(
        _ sources: consuming [SourceFixes], streams: [Device: ItemSource<Location>], segments: [Segment],
        activity: Activity
    ) {
        speedLimit = activity.speedLimit
        self.segments = segments
        self.streams = streams
        let order = sources.filter { $0.accepted.count > 0 }
            .sorted { SourceOrder.prefers($0.device, to: $1.device, for: .distance) }
        devices = order.map(\.device)
        fixes = CountedFixes(order.map(\.accepted), ActiveTimeline(segments))
    }

    var totals: RouteTotals { fixes.reduce(into: RouteTotals()) { $0.add($1) } }

    /// The index in ``devices`` of a fix's source.
    func source(_ index: Int) -> Int { fixes.source(index) }

    /// Whether a fix starts a new line: after a pause or a jump.
    func startsLine(_ index: Int) -> Bool {
        guard index > 0 else { return true }
        let (before, fix) = (fixes[index - 1], fixes[index])
        guard fix.segment == before.segment else { return true }
        if source(index) == source(index - 1) { return fix.startsLine }
        // Another device continues. A distance beyond the speed limit starts a new line.
        let distance = before.coordinate.distance(to: fix.coordinate)
        return distance > speedLimit * fix.time.seconds(since: before.time) + Self.slack
    }

    /// For each device its items, and by their numbers the indices of the fixes; ``noFix`` without one.
    var items: [(items: ItemSource<Location>, fixes: [UInt32])] {
        devices.enumerated().compactMap { source, device in
            guard let items = streams[device] else { return nil }
            var places = [UInt32](repeating: Self.noFix, count: items.count)
            for index in fixes.indices where self.source(index) == source {
                places[fixes[index].number] = UInt32(index)
            }
            return (items, places)
        }
    }

    package func summary(laps: [Timestamp], units: Units) -> RouteSummary {
        RouteSummary(self, laps: laps, units: units)
    }
}
