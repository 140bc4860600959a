extension LiveRoute {
    /// Folds all items of a session, with the same choice and filters as the summary.
    ///
    /// - Parameter streams: all items of each device, sorted by number.
    package init(
        streams: [Device: [Location]], segments: [Segment], activity: Activity, environment: Environment,
        now: Timestamp
    ) {
        self.init(activity: activity, environment: environment)
        for device in streams.keys.sorted() {
            var row = Row(device: device, route: SourceRoute(activity))
            row.newest = streams[device]?.lazy.compactMap(\.time).max()?.microseconds ?? .min
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
            SourceFixes(row.device, streams[row.device] ?? [], segments: closed, activity: activity)
        }
        for index in rows.indices { rows[index].route = sources[index].route }
        take(CountedLocations(sources, streams: streams, segments: closed, activity: activity), sources)
    }

    private mutating func take(_ locations: CountedLocations, _ sources: [SourceFixes]) {
        guard let last = locations.sources.last else { return }
        let places = locations.devices.map { device in sources.firstIndex { $0.device == device } ?? 0 }
        current = places[last]
        var whole = RouteTotals()
        for accepted in sources[current].accepted { whole.add(accepted) }
        base = locations.totals - whole
        for index in locations.fixes.indices {
            let source = places[locations.sources[index]]
            let isSettled = locations.fixes[index].fix.time <= sources[source].settledTime
            let isSwitch = index > 0 && locations.sources[index] != locations.sources[index - 1]
            if !isSettled, source != current || isSwitch { rows[source].isOpen = true }
            guard isSettled || source != current else { continue }
            var accepted = locations.fixes[index]
            accepted.fix.startsLine = locations.startsLine(index)
            draw(accepted)
        }
        solidFrom = locations.solidStart
    }
}

extension CountedLocations {
    /// The time since which the last source has had no gap.
    fileprivate var solidStart: Int64 {
        let timeline = ActiveTimeline(segments)
        let freshness = Int64(SourceOrder.freshness * 1e6)
        func position(_ index: Int) -> Int64 { timeline.position(Timestamp(microseconds: fixes[index].fix.time)) }
        var first = fixes.count - 1
        while first > 0, sources[first - 1] == sources[first], position(first) - position(first - 1) <= freshness {
            first -= 1
        }
        return first == 0 && position(0) <= freshness ? .min : fixes[first].fix.time
    }
}
