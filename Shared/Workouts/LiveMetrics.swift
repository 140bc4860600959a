/// What dashboards show of a session while it goes on: a running fold over its items.
///
/// Items are taken as they come, each in the order of its stream. Totals that count are those of the summary.
package struct LiveMetrics: Sendable {
    /// Since when the displayed pace and speed have stood: they change every 5 s.
    private static let displayInterval = 5.0
    private static let paceLimit = 1_800.0
    private static let paceDistance = 50.0

    private struct Source: Sendable {
        var device: Device
        var time: Timestamp
        var value: Double
        /// The quantity's sum when this source last had a reading: what others add from here on is not added again.
        var sum: Double
    }

    private struct Track: Sendable {
        /// The latest reading of each device.
        var sources: [Source] = []
        /// The source whose reading was taken last.
        var current: Source?
        var sum = 0.0
        /// Weighted sum and weight for the average of the values taken.
        var weighted = 0.0
        var weight = 0.0
        var maximum: Double?
    }

    private var tracks = [8 of Track](repeating: Track())
    /// The newest item that counted.
    package private(set) var newest: Timestamp?
    private var display: (at: Timestamp, speed: Double?, pace: Double?)?

    package init() {}

    /// Takes one item of a device; one outside the segments moves nothing but what its next delta reaches back to.
    package mutating func add(_ sample: Sample, from device: Device, segments: [Segment]) {
        guard let time = sample.time else { return }
        let segment = segments.segment(containing: time)
        for quantity in Quantity.allCases {
            guard let value = sample[quantity] else { continue }
            take(value, quantity, time, device, segments)
        }
        guard segment != nil, newest.map({ time > $0 }) ?? true else { return }
        newest = time
        refreshDisplay(time, segments)
    }

    private mutating func take(
        _ value: Double, _ quantity: Quantity, _ time: Timestamp, _ device: Device, _ segments: [Segment]
    ) {
        let index = tracks[quantity.rawValue].sources.firstIndex { $0.device == device }
        let previous = index.map { tracks[quantity.rawValue].sources[$0] }
        let isChosen =
            segments.segment(containing: time) != nil
            && !tracks[quantity.rawValue].sources.contains { other in
                SourceOrder.prefers(other.device, to: device, for: quantity)
                    && abs(time.seconds(since: other.time)) <= SourceOrder.freshness
            }
        if isChosen {
            if quantity.isDelta {
                let meanwhile = tracks[quantity.rawValue].sum - (previous?.sum ?? 0)
                tracks[quantity.rawValue].sum += max(0, value - meanwhile)
            } else {
                weigh(quantity, until: time, segments)
            }
            tracks[quantity.rawValue].maximum = max(value, tracks[quantity.rawValue].maximum ?? value)
        }
        let source = Source(device: device, time: time, value: value, sum: tracks[quantity.rawValue].sum)
        if let index {
            tracks[quantity.rawValue].sources[index] = source
        } else {
            tracks[quantity.rawValue].sources.append(source)
        }
        if isChosen { tracks[quantity.rawValue].current = source }
    }

    /// The value before held until this one, 15 s at most, and never over a pause.
    /// Weighs the value taken last: it held until now, 15 s at most, and not beyond the end of its segment.
    private mutating func weigh(_ quantity: Quantity, until time: Timestamp, _ segments: [Segment]) {
        guard let last = tracks[quantity.rawValue].current, let segment = segments.segment(containing: last.time) else {
            return
        }
        let end = min(time, segment.end ?? time)
        let seconds = min(max(0, end.seconds(since: last.time)), SourceOrder.freshness)
        tracks[quantity.rawValue].weighted += last.value * seconds
        tracks[quantity.rawValue].weight += seconds
    }

    private mutating func refreshDisplay(_ time: Timestamp, _ segments: [Segment]) {
        if let display, time.seconds(since: display.at) < Self.displayInterval { return }
        let speed = speed(at: time, segments)
        display = (time, speed, pace(speed: speed, segments, at: time))
    }
}

extension LiveMetrics {
    /// The latest value of a quantity; `nil` when it is 15 s older than the session's newest item.
    package func latest(_ quantity: Quantity) -> Double? {
        guard let current = tracks[quantity.rawValue].current, let newest,
            newest.seconds(since: current.time) <= SourceOrder.freshness
        else { return nil }
        return current.value
    }

    /// The sum of a delta quantity; `nil` when no device measures it.
    package func total(_ quantity: Quantity) -> Double? {
        tracks[quantity.rawValue].current == nil ? nil : tracks[quantity.rawValue].sum
    }

    package func average(_ quantity: Quantity) -> Double? {
        let track = tracks[quantity.rawValue]
        guard let current = track.current else { return nil }
        return track.weight > 0 ? track.weighted / track.weight : current.value
    }

    package func maximum(_ quantity: Quantity) -> Double? { tracks[quantity.rawValue].maximum }

    private func speed(at time: Timestamp, _ segments: [Segment]) -> Double? {
        if let measured = latest(.speed) { return measured }
        let seconds = segments.activeDuration(at: time)
        guard let distance = total(.distance), seconds > 0 else { return nil }
        return distance / seconds
    }

    /// Seconds per kilometre, from the speed when it is known; none below 50 m or slower than 30 minutes.
    private func pace(speed: Double?, _ segments: [Segment], at time: Timestamp) -> Double? {
        guard let distance = total(.distance), distance >= Self.paceDistance, let speed, speed > 0 else { return nil }
        let pace = 1000 / speed
        return pace <= Self.paceLimit ? pace : nil
    }

    /// What is published, as of the newest item.
    ///
    /// - Parameters:
    ///   - isSilent: nothing came for 15 s, so that every live value is unknown.
    ///   - count: items stored.
    package func snapshot(_ state: SessionState, revision: Int64, count: Int, isSilent: Bool) -> MetricsSnapshot {
        var snapshot = MetricsSnapshot(user: state.user, revision: revision)
        snapshot.newest = newest
        snapshot.isPaused = state.status != .active
        snapshot.count = count
        snapshot.lap = state.laps.count + 1
        snapshot.distance = total(.distance).map(thousandths)
        snapshot.activeEnergy = total(.activeEnergy).map(thousandths)
        snapshot.averageHeartRate = average(.heartRate).map(thousandths)
        snapshot.maximumHeartRate = maximum(.heartRate)
        if snapshot.activeEnergy != nil { snapshot.energySource = "device" }
        guard let newest else { return snapshot }
        snapshot.activeSeconds = state.segments.activeDuration(at: newest)
        guard !isSilent else { return snapshot }
        let speed = speed(at: newest, state.segments)
        snapshot.speed = speed.map(thousandths)
        snapshot.pace = pace(speed: speed, state.segments, at: newest).map(thousandths)
        snapshot.displaySpeed = display?.speed.map(thousandths)
        snapshot.displayPace = display?.pace.map(thousandths)
        snapshot.heartRate = latest(.heartRate)
        snapshot.cadence = latest(.cadence)
        snapshot.power = latest(.power)
        snapshot.battery = latest(.battery)
        return snapshot
    }
}
