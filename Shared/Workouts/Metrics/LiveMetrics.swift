/// The live values of a session: a running fold over its items.
///
/// It takes items as they arrive, each in the order of its stream. As long as ``isExact`` is true, the totals equal
/// those of a summary of the same items. A late item or a change of source makes it false: the owner then computes the
/// fold again from all items, as it does the summary.
package struct LiveMetrics: Sendable {
    /// Microseconds after which a value without a successor is unknown and another source counts.
    static let freshness = Int64(SourceOrder.freshness * 1e6)
    /// Seconds ahead of the service's clock beyond which a device does not define the newest time of the others.
    package static let clockTolerance = 60.0

    let rules: LiveRules
    var rows: [Row] = []
    var tracks = LiveReadings<Track>()
    /// Seconds in heart rate zones and the energy, both without the last heart rate.
    var zones = [5 of Double](repeating: 0)
    var energyFold: EnergyFold
    /// Whether the energy contains the speed along the route.
    var isRouteInEnergy = false
    /// The filters of barometric altitudes, the segment of the last one, and metres climbed.
    var climb = Climb()
    var smoothedAltitude = SmoothedAltitude()
    var climbSegment = Int64.min
    var climbPosition: Int64 = 0
    var ascent = 0.0
    /// Whether the totals equal those of a summary of the added items.
    package internal(set) var isExact = true
    var distances: LiveDistances
    /// The ends of laps, and the beats at those that the heart rate has passed.
    var lapEnds: [Int64]
    var lapBeats: [Beats] = []
    var newestTime = Int64.min
    /// The start of the last item's segment, and the active microseconds before it.
    private var place = (segment: Int64.min, position: Int64(0))
    var display: (at: Int64, speed: Double?, pace: Double?)?
    /// The newest totals of the route; its distance and speed count as long as no device measures them.
    package internal(set) var route: RouteProgress?
    /// The time of the newest location, unless the clock of its device is ahead.
    var routeTime = Int64.min

    package init(_ rules: LiveRules = LiveRules(), laps: [Timestamp] = []) {
        self.rules = rules
        lapEnds = laps.map(\.microseconds)
        distances = LiveDistances(rules, lapEnds: lapEnds)
        energyFold = EnergyFold(rules.physiology.energy)
    }

    /// The time of the newest sample or location. Items of a clock that is ahead do not count.
    package var newest: Timestamp? {
        let newest = max(newestTime, routeTime)
        return newest == .min ? nil : Timestamp(microseconds: newest)
    }

    /// Takes one item of a device. An item outside the segments changes no total.
    ///
    /// - Parameter now: the service's clock, which detects a device clock that is ahead.
    package mutating func addSample(
        _ sample: Sample, from device: Device, segments: [Segment],
        now: Timestamp = Timestamp(microseconds: .max / 2)
    ) {
        addItems([sample], from: device, segments: segments, now: now)
    }

    /// Takes consecutive items of a device.
    package mutating func addItems(_ samples: [Sample], from device: Device, segments: [Segment], now: Timestamp) {
        foldSamples(ItemSource(samples), from: device, segments: segments, now: now)
    }

    mutating func foldSamples(
        _ samples: ItemSource<Sample>, from device: Device, segments: [Segment], now: Timestamp
    ) {
        let row = row(of: device)
        let horizon = (now + Self.clockTolerance).microseconds
        samples.visit { sample in
            if let time = sample.time { foldSample(sample, time, row, segments, horizon) }
        }
        if rows.count > 1 { noticeSilence(segments) }
    }

    private mutating func foldSample(
        _ sample: Sample, _ moment: Timestamp, _ row: Int, _ segments: [Segment], _ horizon: Int64
    ) {
        let time = moment.microseconds
        if rows[row].newest > horizon, time <= horizon {
            // The device's clock was ahead.
            rows[row].forget(after: horizon)
            isExact = false
        }
        rows[row].newest = max(rows[row].newest, time)
        var isAhead = false
        if time > horizon, rows.count > 1 {
            isAhead = rows.contains { $0.newest <= horizon && $0.newest > .min }
        } else if newestTime > horizon, time <= horizon {
            // Another device was alone until now, and its clock is ahead.
            newestTime = .min
            isExact = false
        }
        let segment = segments.segment(containing: moment)
        for quantity in sample.quantities {
            guard let value = sample[quantity] else { continue }
            if let segment, !isAhead {
                takeReading(value, quantity, time, row, segment, segments)
            } else {
                keep(value, quantity, time, row)
            }
        }
        for quantity in PresentFields<Quantity>(sample.lists) { rows[row].keepList(quantity, of: sample, at: time) }
        if isAhead { isExact = false }
        guard !isAhead, time > newestTime else { return }
        newestTime = time
        if segment != nil { refreshDisplay(segments) }
    }

    private mutating func row(of device: Device) -> Int {
        if let known = rows.firstIndex(where: { $0.device == device }) { return known }
        rows.append(Row(device: device))
        rankRows()
        return rows.count - 1
    }

    mutating func rankRows() {
        for index in rows.indices {
            let device = rows[index].device
            rows[index].rank = rows.count { SourceOrder.prefers($0.device, to: device, for: .distance) }
            rows[index].heartRateRank = rows.count { SourceOrder.prefers($0.device, to: device, for: .heartRate) }
        }
    }
}

extension LiveMetrics {
    /// Takes a reading in a segment.
    private mutating func takeReading(
        _ value: Double, _ quantity: Quantity, _ time: Int64, _ row: Int, _ segment: Segment, _ segments: [Segment]
    ) {
        let index = quantity.rawValue
        let source = rows[row].sources[index]
        rows[row].sources[index].inside = max(source.inside, time)
        guard time >= source.time else {
            isExact = false
            return
        }
        guard isChosen(quantity, time, row, segments) else { return keep(value, quantity, time, row) }
        let track = tracks[index]
        let position = position(time, in: segment, segments)
        if quantity.isDelta {
            // Counts only the part that exceeds the additions of other sources since this one's last reading.
            let meanwhile = track.sum - source.sum
            let added = max(0, value - meanwhile)
            tracks[index].sum += added
            cover(added, quantity, time, position, segment, segments)
        } else {
            if quantity == .heartRate { passLaps(until: time) }
            if track.current >= 0 {
                weigh(track.value, quantity, for: held(quantity, until: time), from: track.position)
                if quantity == .heartRate { settleEnergy(before: position) }
            }
            cover(value, quantity, time, position, segment, segments)
        }
        tracks[index].current = row
        tracks[index].time = time
        tracks[index].position = position
        tracks[index].value = value
        tracks[index].until = segment.end?.microseconds ?? .max
        tracks[index].maximum = max(tracks[index].maximum, value)
        keep(value, quantity, time, row)
    }

    private mutating func cover(
        _ value: Double, _ quantity: Quantity, _ time: Int64, _ position: Int64, _ segment: Segment,
        _ segments: [Segment]
    ) {
        guard quantity.isCovered else { return }
        let heart = tracks[Quantity.heartRate.rawValue]
        let place = (time: time, position: position, segment: segment.start.microseconds)
        guard cover(value, of: quantity, at: place, segments, beats: { moment, _ in heart.beats(at: moment) }) else {
            return
        }
        settleEnergy(before: position)
    }

    /// Keeps only the energy fold's last minutes in memory.
    mutating func settleEnergy(before position: Int64) {
        energyFold.settle(before: position)
        if !energyFold.isExact { isExact = false }
    }

    /// Active microseconds before a moment.
    private mutating func position(_ time: Int64, in segment: Segment, _ segments: [Segment]) -> Int64 {
        let start = segment.start.microseconds
        if place.segment != start { place = (start, segments.activeMicroseconds(from: .min, to: start)) }
        return place.position + time - start
    }

    /// Stores the latest reading of a device.
    private mutating func keep(_ value: Double, _ quantity: Quantity, _ time: Int64, _ row: Int) {
        let index = quantity.rawValue
        guard time >= rows[row].sources[index].time else {
            isExact = false
            return
        }
        rows[row].sources[index].time = time
        rows[row].sources[index].value = value
        rows[row].sources[index].sum = tracks[index].sum
    }

    /// Whether a reading counts. Clears ``isExact`` if only a fold over all items can decide.
    private mutating func isChosen(
        _ quantity: Quantity, _ time: Int64, _ row: Int, _ segments: [Segment]
    ) -> Bool {
        let index = quantity.rawValue
        let track = tracks[index]
        let isGap = time - (track.current < 0 ? .min / 2 : track.time) > Self.freshness
        if track.current < 0 {
            let position = segments.activeMicroseconds(from: .min, to: time)
            tracks[index].solidFrom = position > Self.freshness ? time : .min
            return true
        }
        if track.current == row {
            if isGap, segments.activeMicroseconds(from: track.time, to: time) > Self.freshness {
                if rows.contains(where: { $0.sources[index].inside > track.time && $0.device != rows[row].device }) {
                    isExact = false
                }
                tracks[index].solidFrom = time
            }
            return true
        }
        if rows[row].rank(quantity) < rows[track.current].rank(quantity) {
            // The preferred source delivers again.
            isExact = false
            guard time > track.time else { return false }
            tracks[index].solidFrom = time
            return true
        }
        if isGap, segments.activeMicroseconds(from: track.time, to: time) > Self.freshness {
            // The preferred source is silent, and the earlier readings of this one count as well.
            isExact = false
            tracks[index].solidFrom = time
            return true
        }
        if time < track.solidFrom { isExact = false }
        return false
    }

    /// Weighs a value that was valid for some microseconds.
    mutating func weigh(_ value: Double, _ quantity: Quantity, for held: Int64, from position: Int64) {
        guard quantity.counts(value) else { return }
        tracks[quantity.rawValue].weighted += value * Double(held)
        tracks[quantity.rawValue].weight += held
        guard quantity == .heartRate else { return }
        if let limits = rules.physiology.zones { zones[limits.zone(of: value)] += Double(held) / 1e6 }
        energyFold.addHeartRate(value, from: position, to: position + held)
    }

    /// For how many microseconds the reading counted last has been valid, at most until the end of its segment.
    func held(_ quantity: Quantity, until time: Int64) -> Int64 {
        let track = tracks[quantity.rawValue]
        return max(0, min(time, track.until, track.time + quantity.validity(of: track.value)) - track.time)
    }

    /// When a source is silent, the end of the session belongs to the next source.
    private mutating func noticeSilence(_ segments: [Segment]) {
        guard isExact else { return }
        let end = max(newestTime, segments.last?.end?.microseconds ?? .min)
        for index in tracks.known.indices where tracks[index].current >= 0 && end - tracks[index].time > Self.freshness
        {
            let time = tracks[index].time
            if rows.contains(where: { $0.sources[index].inside > time }),
                segments.activeMicroseconds(from: time, to: end) > Self.freshness
            {
                isExact = false
            }
        }
    }
}
