extension LiveRoute {
    /// Folds all items of a session, with the same choice and filters as the summary.
    ///
    /// - Parameter streams: all items of each device, sorted by number.
    package init(
        streams: [Device: ItemSource<Location>], segments: [Segment], activity: Activity, environment: Environment,
        now: Timestamp
    ) {
        self.init(activity: activity, environment: environment)
        for (device, items) in streams.sorted(by: { $0.key < $1.key }) {
            var row = Row(device: device, route: SourceRoute(activity))
            items.visit { row.newest = max(row.newest, $0.time?.microseconds ?? .min) }
            rows.append(row)
        }
        rankRows()
        let horizon = (now + LiveMetrics.clockTolerance).microseconds
        let times = rows.map(\.newest).filter { $0 > .min }
        guard let newest = times.filter({ $0 <= horizon }).max() ?? times.max() else { return }
        newestTime = newest
        guard environment == .outdoor else { return }
        let closed = segments.compactMap { segment -> Segment? in
            if segment.end != nil { return segment }
            let end = Timestamp(microseconds: newest)
            return segment.start <= end ? Segment(start: segment.start, end: end) : nil
        }
        let sources = rows.map { row in
            SourceFixes(
                row.device, streams[row.device] ?? ItemSource([]), segments: closed, activity: activity)
        }
        for index in rows.indices { rows[index].route = sources[index].route }
        let (totals, settled) = (sources.map(\.accepted.totals), sources.map(\.settledTime))
        foldLocations(
            CountedLocations(sources, streams: streams, segments: closed, activity: activity), totals, settled)
    }

    /// - Parameters:
    ///   - totals: of all accepted fixes of each row.
    ///   - settled: the time of each row's newest final fix.
    private mutating func foldLocations(
        _ locations: CountedLocations, _ totals: [RouteTotals], _ settled: [Timestamp]
    ) {
        let fixes = locations.fixes
        guard !fixes.isEmpty else { return }
        let places = locations.devices.map { device in rows.firstIndex { $0.device == device } ?? 0 }
        current = places[locations.source(fixes.count - 1)]
        base = locations.totals - totals[current]
        for index in fixes.indices {
            let source = places[locations.source(index)]
            var fix = fixes[index]
            let isSettled = fix.time <= settled[source]
            let isSwitch = index > 0 && locations.source(index) != locations.source(index - 1)
            if !isSettled, source != current || isSwitch { rows[source].isOpen = true }
            guard isSettled || source != current else { continue }
            fix.startsLine = locations.startsLine(index)
            draw(fix)
        }
        solidFrom = locations.solidStart
    }
}

extension CountedLocations {
    /// The time since which the last source has had no gap.
    fileprivate var solidStart: Int64 {
        let timeline = ActiveTimeline(segments)
        let freshness = Int64(SourceOrder.freshness * 1e6)
        func position(_ index: Int) -> Int64 { timeline.position(fixes[index].time) }
        var first = fixes.count - 1
        while first > 0, source(first - 1) == source(first), position(first) - position(first - 1) <= freshness {
            first -= 1
        }
        return first == 0 && position(0) <= freshness ? .min : fixes[first].time.microseconds
    }
}
