/// The distance of a session, from the one source that counts.
struct Way {
    enum Source {
        case samples, route, poolLengths, speed
    }

    let source: Source
    /// Metres.
    let meters: Cumulative

    /// The speed over this many microseconds counts as maximum speed.
    private static let span: Int64 = 5_000_000
    /// A stretch at rest is at least this long.
    private static let shortestRest: Int64 = 5_000_000
    /// m/s² by which a measured speed may differ from those before and after it.
    private static let acceleration = 12.0

    /// The microseconds of active time in stretches of 5 s and more below a speed. So is the time without readings before
    /// the end, if it is longer than 15 s.
    func rest(below speed: Double, until end: Int64) -> Int64 {
        var (rest, stretch, last) = (Int64(0), Int64(0), Int64(0))
        func endStretch() {
            if stretch >= Self.shortestRest { rest += stretch }
            stretch = 0
        }
        meters.visit { from, to, meters in
            guard to > from else { return }
            if meters / (Double(to - from) / 1e6) < speed { stretch += to - from } else { endStretch() }
            last = to
        }
        if end - last > Int64(SourceOrder.freshness * 1e6) { stretch += end - last }
        endStretch()
        return rest
    }

    /// The maximum of the measured speeds of the distance's source, else of the distance itself.
    func maximumSpeed(_ items: CountedItems, _ route: RouteInput?) -> Double? {
        let average = meters.total / (Double(items.timeline.total) / 1e6)
        let measured = source == .route ? route?.totals.maximumSpeed : Self.maximum(of: items.readings(.speed))
        if let measured, measured >= average { return measured }
        return max(meters.largestRate(over: Self.span) ?? average, average)
    }

    /// The largest speed that is no outlier against its neighbours in time.
    private static func maximum(of readings: [Reading]) -> Double? {
        func jumps(_ reading: Reading, from neighbour: Reading) -> Bool {
            let seconds = abs(reading.time.seconds(since: neighbour.time))
            return reading.value - neighbour.value > acceleration * max(1, seconds)
        }
        var largest: Double?
        for (index, reading) in readings.enumerated() where reading.value > largest ?? -1 {
            let before = index > 0 ? jumps(reading, from: readings[index - 1]) : nil
            let after = index + 1 < readings.count ? jumps(reading, from: readings[index + 1]) : nil
            if before ?? after ?? false, after ?? before ?? false { continue }
            largest = reading.value
        }
        return largest
    }
}

extension CountedItems {
    /// Seconds of a measured speed that count as distance, at most.
    private static let longestSpeed = 3.0

    /// The distance that samples measure; without any, the route's; without either, that of pool lengths or of measured
    /// speeds, as on a treadmill.
    func way(_ route: RouteInput?, poolLength: Double?) -> Way? {
        if let meters = cumulative(.distance) { return Way(source: .samples, meters: meters) }
        if let route, let meters = cumulative(route.track) { return Way(source: .route, meters: meters) }
        if let poolLength, has(.poolLengths) {
            return Way(
                source: .poolLengths, meters: Cumulative(readings(.poolLengths), timeline, scale: poolLength))
        }
        guard has(.speed) else { return nil }
        let speeds = readings(.speed)
        var meters = Cumulative(capacity: speeds.count)
        var previous: Int64?
        for reading in speeds {
            let position = timeline.position(reading.time)
            let seconds = Double(position - (previous ?? position)) / 1e6
            meters.add(reading.value * min(seconds, Self.longestSpeed), at: position)
            previous = position
        }
        return Way(source: .speed, meters: meters)
    }

    /// The distance along a track, in closed segments.
    private func cumulative(_ track: Track) -> Cumulative? {
        guard let column = track.columns.first(where: { $0.kind == .distance }) else { return nil }
        var meters = Cumulative(capacity: track.times.count)
        for (time, value) in zip(track.times, column.values) {
            guard let value, let place = timeline.place(time) else { continue }
            meters.add(max(0, value - meters.total), at: place.position)
        }
        return meters
    }
}
