extension LiveMetrics {
    /// The fold over all items of a session, with the sources and weights of the summary.
    ///
    /// - Parameters:
    ///   - streams: every item of each device, in the order of their numbers.
    ///   - shown: the fold until now, whose displayed pace, displayed speed and route continue.
    package init(
        streams: [Device: [Sample]], segments: [Segment], physiology: Physiology, units: Units, now: Timestamp,
        shown: LiveMetrics? = nil
    ) {
        self.init(
            streams: streams.mapValues { ItemSource($0) }, segments: segments, physiology: physiology, units: units,
            now: now, shown: shown)
    }

    package init(
        streams: [Device: ItemSource<Sample>], segments: [Segment], physiology: Physiology, units: Units,
        now: Timestamp, shown: LiveMetrics? = nil
    ) {
        self.init(physiology: physiology, units: units, shown: shown)
        if streams.count == 1, let (device, samples) = streams.first {
            add(samples, from: device, segments: segments, now: now)
            if isExact { return }
            self.init(physiology: physiology, units: units, shown: shown)
        }
        for (device, samples) in streams.sorted(by: { $0.key < $1.key }) {
            rows.append(Self.row(device, samples, segments))
        }
        rankRows()
        let horizon = (now + Self.clockTolerance).microseconds
        let times = rows.map(\.newest).filter { $0 > .min }
        guard let newest = times.filter({ $0 <= horizon }).max() ?? times.max() else { return }
        newestTime = newest
        let closed = segments.compactMap { segment -> Segment? in
            if segment.end != nil { return segment }
            let end = Timestamp(microseconds: newest)
            return segment.start <= end ? Segment(start: segment.start, end: end) : nil
        }
        let items = CountedItems(streams: streams, segments: closed)
        for quantity in Quantity.allCases { take(items.readings(quantity), quantity, segments, items.timeline) }
    }

    private init(physiology: Physiology, units: Units, shown: LiveMetrics?) {
        self.init(physiology: physiology, units: units)
        if let shown { keepDisplay(of: shown) }
    }

    /// Continues the displayed pace and speed and the route of another fold, unless the own display is newer.
    package mutating func keepDisplay(of shown: LiveMetrics) {
        if let other = shown.display, other.at >= display?.at ?? .min { display = other }
        keepRoute(of: shown)
    }

    /// The latest readings of a device.
    private static func row(_ device: Device, _ samples: ItemSource<Sample>, _ segments: [Segment]) -> Row {
        var row = Row(device: device)
        samples.visit { sample in
            guard let time = sample.time else { return }
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

    /// Takes the readings of one quantity that count.
    private mutating func take(
        _ readings: [Reading], _ quantity: Quantity, _ segments: [Segment], _ timeline: ActiveTimeline
    ) {
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
        guard let last = readings.last else { return }
        track.current = last.source
        track.time = last.time.microseconds
        track.value = last.value
        track.until = segments.segment(containing: last.time)?.end?.microseconds ?? .max
        track.maximum = readings.map(\.value).max() ?? track.maximum
        track.solidFrom = Self.solidStart(readings, timeline)
        if !quantity.isDelta { weigh(TimeWeightedValues(readings, of: quantity, timeline), quantity, &track) }
        addEnergy(readings, quantity, timeline)
        tracks[index] = track
        if quantity == .distance { findSplits(readings) }
    }

    /// Weighs all values but the last, which is still valid.
    private mutating func weigh(_ values: TimeWeightedValues, _ quantity: Quantity, _ track: inout Track) {
        var last: TimeWeightedValues.Value?
        values.visit { next in
            defer { last = next }
            guard let value = last, quantity.counts(value.value) else { return }
            let held = value.until - value.from
            track.weighted += value.value * Double(held)
            track.weight += held
            guard quantity == .heartRate else { return }
            if let limits = physiology.zones { zones[limits.zone(of: value.value)] += Double(held) / 1e6 }
            energyFold.add(heartRate: value.value, from: value.from, to: value.until)
        }
    }

    private mutating func addEnergy(_ readings: [Reading], _ quantity: Quantity, _ timeline: ActiveTimeline) {
        var previous: Int64 = 0
        for reading in readings {
            guard let place = timeline.place(reading.time) else { continue }
            switch quantity {
            case .distance: energyFold.add(meters: reading.value, from: previous, to: place.position)
            case .activeEnergy: energyFold.add(measured: reading.value, at: place.position)
            case .barometricAltitude:
                let start = timeline.segmentStart(place.segment).microseconds
                if climbSegment != start { climb.startLine() }
                climbSegment = start
                let change = climb.add(reading.value, at: reading.time.microseconds)
                ascent += change.ascent
                energyFold.add(climb: change.rise, from: previous, to: place.position)
            default: return
            }
            previous = place.position
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

    private mutating func findSplits(_ readings: [Reading]) {
        let total = tracks[Quantity.distance.rawValue].sum
        var whole = Int(total / splitLength)
        if Double(whole) * splitLength > total { whole -= 1 }
        guard whole > 0 else { return }
        var sum = total
        // From the end, where the last split usually is.
        let crossing = readings.last { reading in
            sum -= reading.value
            return sum < Double(whole) * splitLength
        }
        splits = (whole, crossing?.time)
    }
}
