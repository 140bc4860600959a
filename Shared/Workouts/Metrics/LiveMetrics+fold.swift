extension LiveMetrics {
    /// Splits and laps need the heart rate, and the speed gives no distance if others do.
    private static let foldOrder =
        [Quantity.heartRate, .distance, .poolLengths]
        + Quantity.allCases.filter { ![.heartRate, .distance, .poolLengths].contains($0) }

    /// The fold over all items of a session, with the sources and weights of the summary.
    ///
    /// - Parameters:
    ///   - streams: every item of each device, in the order of their numbers.
    ///   - shown: the fold until now, whose displayed pace, displayed speed and route continue.
    package init(
        streams: [Device: [Sample]], segments: [Segment], rules: LiveRules, laps: [Timestamp] = [], now: Timestamp,
        shown: LiveMetrics? = nil
    ) {
        self.init(
            streams: streams.mapValues { ItemSource($0) }, segments: segments, rules: rules, laps: laps, now: now,
            shown: shown)
    }

    package init(
        streams: [Device: ItemSource<Sample>], segments: [Segment], rules: LiveRules, laps: [Timestamp] = [],
        now: Timestamp, shown: LiveMetrics? = nil
    ) {
        self.init(rules, laps: laps, shown: shown)
        if streams.count == 1, let (device, samples) = streams.first {
            if shown?.distances.measured.isKnown != true { addRouteEnergy(segments) }
            foldSamples(samples, from: device, segments: segments, now: now)
            if isExact { return }
            self.init(rules, laps: laps, shown: shown)
        }
        let horizon = (now + Self.clockTolerance).microseconds
        for (device, samples) in streams.sorted(by: { $0.key < $1.key }) {
            rows.append(Self.row(device, samples, segments, horizon))
        }
        rankRows()
        let times = rows.map(\.newest).filter { $0 > .min }
        guard let newest = times.filter({ $0 <= horizon }).max() ?? times.max() else { return }
        newestTime = newest
        let closed = segments.compactMap { segment -> Segment? in
            if segment.end != nil { return segment }
            let end = Timestamp(microseconds: newest)
            return segment.start <= end ? Segment(start: segment.start, end: end) : nil
        }
        let items = CountedItems(streams: streams, segments: closed)
        if !items.has(.distance) { addRouteEnergy(segments) }
        var beats = BeatsWalk(values: [])
        for quantity in Self.foldOrder {
            let readings = items.readings(quantity)
            foldReadings(readings, quantity, segments, items.timeline, &beats)
            var walk = beats
            for reading in readings {
                guard let place = items.timeline.place(reading.time) else { break }
                let start = items.timeline.segmentStart(place.segment).microseconds
                let isCovering = cover(
                    reading.value, of: quantity, at: (reading.time.microseconds, place.position, start), segments
                ) { walk.beats(until: $1) }
                if !isCovering { break }
            }
        }
        energyFold.settle(before: items.timeline.total)
        isExact = true
    }

    private init(_ rules: LiveRules, laps: [Timestamp], shown: LiveMetrics?) {
        self.init(rules, laps: laps)
        if let shown { keepDisplay(of: shown) }
    }

    /// Continues the displayed pace and speed and the route of another fold, unless the own display is newer.
    package mutating func keepDisplay(of shown: LiveMetrics) {
        if let other = shown.display, other.at >= display?.at ?? .min { display = other }
        keepRoute(of: shown)
    }

    /// The latest readings of a device. Those of a clock that was ahead count only without others.
    private static func row(
        _ device: Device, _ samples: ItemSource<Sample>, _ segments: [Segment], _ horizon: Int64
    ) -> Row {
        var row = Row(device: device)
        samples.visit { sample in
            guard let time = sample.time else { return }
            if time.microseconds > horizon, row.newest <= horizon, row.newest > .min { return }
            if time.microseconds <= horizon, row.newest > horizon { row.forget(after: horizon) }
            row.newest = max(row.newest, time.microseconds)
            let isInside = segments.segment(containing: time) != nil
            for quantity in sample.quantities {
                guard let value = sample[quantity] else { continue }
                let index = quantity.rawValue
                if isInside { row.sources[index].inside = max(row.sources[index].inside, time.microseconds) }
                guard time.microseconds >= row.sources[index].time else { continue }
                row.sources[index].time = time.microseconds
                row.sources[index].value = value
            }
            for quantity in PresentFields<Quantity>(sample.lists) {
                row.keepList(quantity, of: sample, at: time.microseconds)
            }
        }
        return row
    }

    /// Folds the readings of one quantity that count.
    private mutating func foldReadings(
        _ readings: [Reading], _ quantity: Quantity, _ segments: [Segment], _ timeline: ActiveTimeline,
        _ beats: inout BeatsWalk
    ) {
        guard let last = readings.last else { return }
        let index = quantity.rawValue
        var track = Track()
        var next = 0
        // The sum that each device's last reading found.
        for row in rows.indices.sorted(by: { rows[$0].sources[index].time < rows[$1].sources[index].time }) {
            while next < readings.count, readings[next].time.microseconds <= rows[row].sources[index].time {
                track.sum += readings[next].value
                next += 1
            }
            rows[row].sources[index].sum = track.sum
        }
        track.current = last.source
        track.time = last.time.microseconds
        track.value = last.value
        track.position = timeline.position(last.time)
        track.until = segments.segment(containing: last.time)?.end?.microseconds ?? .max
        track.maximum = readings.map(\.value).max() ?? track.maximum
        track.solidFrom = Self.solidStart(readings, timeline)
        tracks[index] = track
        guard !quantity.isDelta else { return }
        var values: [TimeWeightedValues.Value] = []
        TimeWeightedValues(readings, of: quantity, timeline).visit { next in
            if let value = values.last {
                weigh(value.value, quantity, for: value.until - value.from, from: value.from)
                // Only splits and laps need the earlier ones.
                if quantity != .heartRate { values.removeAll(keepingCapacity: true) }
            }
            values.append(next)
        }
        guard quantity == .heartRate else { return }
        beats = BeatsWalk(values: values)
        var walk = beats
        for end in lapEnds.prefix(while: { $0 < tracks[index].time }) {
            lapBeats.append(walk.beats(until: timeline.position(Timestamp(microseconds: end))))
        }
    }

    /// Since when the last source has had no gap.
    private static func solidStart(_ readings: [Reading], _ timeline: ActiveTimeline) -> Int64 {
        var first = readings.count - 1
        while first > 0, readings[first - 1].source == readings[first].source,
            timeline.position(readings[first].time) - timeline.position(readings[first - 1].time) <= freshness
        {
            first -= 1
        }
        let isWhole = first == 0 && timeline.position(readings[0].time) <= freshness
        return isWhole ? .min : readings[first].time.microseconds
    }
}

/// Adds up heart rates up to moments that increase.
private struct BeatsWalk {
    let values: [TimeWeightedValues.Value]
    private var index = 0
    private var beats = Beats()

    init(values: [TimeWeightedValues.Value]) {
        self.values = values
    }

    mutating func beats(until position: Int64) -> Beats {
        while index < values.count, values[index].until <= position {
            add(values[index], until: values[index].until, to: &beats)
            index += 1
        }
        var result = beats
        if index < values.count { add(values[index], until: max(values[index].from, position), to: &result) }
        return result
    }

    private func add(_ value: TimeWeightedValues.Value, until: Int64, to beats: inout Beats) {
        beats.weighted += value.value * Double(until - value.from)
        beats.weight += until - value.from
    }
}
