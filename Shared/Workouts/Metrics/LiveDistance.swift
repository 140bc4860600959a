/// The integral of the heart rate over the time for which it is known.
struct Beats: Equatable, Sendable {
    /// Beats per minute times microseconds.
    var weighted = 0.0
    var weight: Int64 = 0

    /// The average heart rate since an earlier moment; `nil` if it was unknown.
    func average(since start: Beats) -> Double? {
        weight > start.weight ? (weighted - start.weighted) / Double(weight - start.weight) : nil
    }
}

/// A distance that grows, with its splits and its values at the ends of laps. Amounts accrue evenly over active time.
struct LiveDistance: Sendable {
    /// A completed kilometre or mile.
    struct Split: Equatable, Sendable {
        var number: Int
        /// The time of the reading that completed it.
        var at: Int64
        /// Active microseconds; `nil` if its start is unknown.
        var duration: Int64?
        var averageHeartRate: Double?
    }

    /// A stretch at rest is at least this long.
    private static let shortestRest: Int64 = 5_000_000

    private(set) var splitLength: Double
    /// The speed in m/s below which a person rests; `nil` for an activity in one place.
    private let restSpeed: Double?
    /// Metres; meaningless before ``time`` is known.
    private(set) var sum = 0.0
    /// The time of the last reading.
    private(set) var time = Int64.min
    /// Active microseconds before it.
    private(set) var position: Int64 = 0
    /// Microseconds at rest, and those of the slow stretch that lasts.
    private var rest: (whole: Int64, stretch: Int64) = (0, 0)
    /// Metres at the ends of laps before ``time``.
    private var lapSums: [Double] = []
    private var nextLap: Int64
    private(set) var splits = 0
    private(set) var split: Split?
    private var nextSplit: Double
    /// The active time and the beats at the end of the last split; `nil` if unknown.
    private var splitStart: (position: Int64, beats: Beats)? = (0, Beats())

    init(_ rules: LiveRules, lapEnds: [Int64]) {
        splitLength = rules.units.splitLength
        restSpeed = rules.activity.restSpeed
        nextSplit = splitLength
        nextLap = lapEnds.first ?? .max
    }

    var isKnown: Bool { time > .min }

    /// The part of the active time in stretches of 5 s and more at rest, in microseconds. So is the time without readings
    /// at the end, if it is long.
    func resting(until end: Int64) -> Int64? {
        guard restSpeed != nil, isKnown else { return nil }
        let silence = end - position > LiveMetrics.freshness ? end - position : 0
        let stretch = rest.stretch + silence
        return rest.whole + (stretch >= Self.shortestRest ? stretch : 0)
    }

    /// Adds the metres since the last reading.
    ///
    /// - Parameters:
    ///   - place: active microseconds before the moment.
    ///   - beats: the beats up to a moment and the active microseconds before it; moments only increase.
    mutating func add(
        _ metres: Double, at moment: Int64, _ place: Int64, lapEnds: [Int64], segments: [Segment],
        beats: (_ moment: Int64, _ position: Int64) -> Beats
    ) {
        if moment > nextLap || sum + metres >= nextSplit {
            cross(metres, moment, place, lapEnds, segments, beats)
        }
        if let restSpeed, place > position {
            if metres < restSpeed * Double(place - position) / 1e6 {
                rest.stretch += place - position
            } else {
                if rest.stretch >= Self.shortestRest { rest.whole += rest.stretch }
                rest.stretch = 0
            }
        }
        sum += metres
        time = moment
        position = place
    }

    /// Replaces the distance by a corrected one.
    mutating func correct(to metres: Double, at moment: Int64, _ place: Int64) {
        sum = metres
        time = max(time, moment)
        position = max(position, place)
        let whole = wholeSplits
        if whole != splits { begin(after: whole) }
    }

    /// Continues with splits of another length. The one that lasts began at an unknown moment.
    mutating func change(splitLength length: Double) {
        guard length != splitLength else { return }
        splitLength = length
        begin(after: wholeSplits)
        split = nil
    }

    private var wholeSplits: Int { Int(min(max(0, sum / splitLength), 1e9)) }

    private mutating func begin(after whole: Int) {
        splits = whole
        splitStart = nil
        nextSplit = Double(whole + 1) * splitLength
    }

    /// The split completed last began at an unknown moment.
    mutating func forgetSplit() {
        split = nil
        if splits > 0 { splitStart = nil }
    }

    /// A new lap ended, not before ``time``.
    mutating func addLapEnd(_ end: Int64) {
        nextLap = min(nextLap, end)
    }

    /// Metres at the end of a lap, counted from 0. All that is known counts if no reading is later.
    func sum(atLapEnd index: Int) -> Double { lapSums.indices.contains(index) ? lapSums[index] : sum }

    private mutating func cross(
        _ metres: Double, _ moment: Int64, _ after: Int64, _ lapEnds: [Int64], _ segments: [Segment],
        _ beats: (_ moment: Int64, _ position: Int64) -> Beats
    ) {
        let before = position
        while lapSums.count < lapEnds.count, lapEnds[lapSums.count] < moment {
            let end = segments.activeMicroseconds(from: .min, to: lapEnds[lapSums.count])
            let part = after > before ? Double(max(0, end - before)) / Double(after - before) : 0
            lapSums.append(sum + metres * part)
        }
        nextLap = lapSums.count < lapEnds.count ? lapEnds[lapSums.count] : .max
        let total = sum + metres
        guard total >= nextSplit, metres > 0 else { return }
        var whole = Int(min(total / splitLength, 1e9))
        // A quotient that was rounded up counts an unfinished split.
        if Double(whole) * splitLength > total { whole -= 1 }
        whole = max(whole, splits + 1)
        // Only the last one is announced.
        for number in max(splits + 1, whole - 1)...whole {
            let rest = min(1, max(0, (total - Double(number) * splitLength) / metres))
            let position = after - Int64(Double(after - before) * rest)
            let end = beats(moment - (after - position), position)
            let start = number == splits + 1 || number == split?.number.advanced(by: 1) ? splitStart : nil
            split = Split(
                number: number, at: moment, duration: start.map { position - $0.position },
                averageHeartRate: start.flatMap { end.average(since: $0.beats) })
            splitStart = (position, end)
        }
        splits = whole
        nextSplit = Double(whole + 1) * splitLength
    }
}

/// The distances of a session: by a device, along the route, by pool lengths, or by speed alone as on a treadmill.
struct LiveDistances: Sendable {
    var measured, route, pool, speed: LiveDistance

    init(_ rules: LiveRules, lapEnds: [Int64]) {
        measured = LiveDistance(rules, lapEnds: lapEnds)
        (route, pool, speed) = (measured, measured, measured)
    }

    /// The distance that counts.
    var counted: LiveDistance? {
        if measured.isKnown { return measured }
        if route.isKnown { return route }
        if pool.isKnown { return pool }
        return speed.isKnown ? speed : nil
    }

    mutating func addLapEnd(_ end: Int64) {
        measured.addLapEnd(end)
        route.addLapEnd(end)
        pool.addLapEnd(end)
        speed.addLapEnd(end)
    }
}
