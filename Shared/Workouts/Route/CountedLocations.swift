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
    /// The locations with an altitude and no position, of the source that counts at their time.
    let altitudes: [CountedAltitude]
    /// Metres between two devices of one person that may be measurement error.
    private static let slack = 100.0
    static let noRow = UInt32.max

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
        self.segments = segments
        self.streams = streams
        let order = sources.filter { $0.accepted.count > 0 }
            .sorted { SourceOrder.prefers($0.device, to: $1.device, for: .distance) }
        devices = order.map(\.device)
        let fixes = CountedFixes(order.map(\.accepted), ActiveTimeline(segments))
        var altitudes: [CountedAltitude] = []
        for (rank, source) in order.enumerated() {
            for altitude in source.altitudes {
                let next = fixes.partitioningIndex { $0.time >= altitude.time }
                guard fixes.source(min(next, fixes.count - 1)) == rank else { continue }
                altitudes.append(CountedAltitude(time: altitude.time, number: altitude.number, source: UInt16(rank)))
            }
        }
        if order.count > 1 { altitudes.sort { ($0.time, $0.source) < ($1.time, $1.source) } }
        (self.fixes, self.altitudes) = (fixes, altitudes)
    }

    var totals: RouteTotals { fixes.reduce(into: RouteTotals()) { $0.addCountedFix($1) } }

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
        return distance > FixChain.speedLimit * fix.time.seconds(since: before.time) + Self.slack
    }

    /// The times of the track's rows.
    var times: [Timestamp] {
        guard !altitudes.isEmpty else { return fixes.times }
        var times = [Timestamp](repeating: altitudes[0].time, count: fixes.count + altitudes.count)
        for index in fixes.indices { times[row(ofFix: index)] = fixes[index].time }
        for index in altitudes.indices { times[row(ofAltitude: index)] = altitudes[index].time }
        return times
    }

    /// The row of a fix in the track: rows of altitudes without a position are between those of fixes.
    func row(ofFix index: Int) -> Int {
        altitudes.isEmpty ? index : index + altitudes.partitioningIndex { $0.time >= fixes[index].time }
    }

    func row(ofAltitude index: Int) -> Int {
        index + fixes.partitioningIndex { $0.time > altitudes[index].time }
    }

    /// For each device its items, and by their numbers the rows of the track; ``noRow`` without one.
    var items: [(items: ItemSource<Location>, rows: [UInt32])] {
        devices.enumerated().compactMap { source, device in
            guard let items = streams[device] else { return nil }
            var places = [UInt32](repeating: Self.noRow, count: items.count)
            for index in fixes.indices where self.source(index) == source {
                places[fixes[index].number] = UInt32(row(ofFix: index))
            }
            for (index, altitude) in altitudes.enumerated() where altitude.source == source {
                places[Int(altitude.number)] = UInt32(row(ofAltitude: index))
            }
            return (items, places)
        }
    }

    package func summary() -> RouteSummary { RouteSummary(self) }
}
