import Workouts

/// What a file says about a whole workout or one of its laps. Seconds, metres, kcal, bpm; absent values are not recorded.
package struct RecordedTotals: Equatable, Sendable {
    package var distance: Double?
    /// The seconds without pauses.
    package var activeTime: Double?
    package var energy: Double?
    package var ascent: Double?
    package var descent: Double?
    package var averageHeartRate: Double?

    package init(
        distance: Double? = nil, activeTime: Double? = nil, energy: Double? = nil, ascent: Double? = nil,
        descent: Double? = nil, averageHeartRate: Double? = nil
    ) {
        self.distance = distance
        self.activeTime = activeTime
        self.energy = energy
        self.ascent = ascent
        self.descent = descent
        self.averageHeartRate = averageHeartRate
    }
}

/// A lap of a recording with its own totals.
struct RecordedLap {
    let time: ClosedRange<Timestamp>
    let totals: RecordedTotals
}

extension Recording {
    /// Seconds between samples that are made from totals, because a value lasts 15 s at most, and how many there may be.
    private static let made = (interval: 10.0, limit: 50_000.0)
    /// The sum of the laps may differ from the session's total by this part of it, because both are rounded.
    private static let lapTolerance = 0.1
    /// Between two positions, in m/s. A higher speed is a jump.
    private static let speedLimit = 60.0

    /// Adds what the file gives for the whole workout or for its laps alone: energy, ascent, descent, and distance if
    /// neither a sensor nor a route measured it. A file without any measurement gets samples with the averages.
    mutating func complete(with laps: [RecordedLap]) {
        if locations.isEmpty, samples.allSatisfy({ $0.quantities.first { _ in true } == nil }) {
            makeSamples(laps)
        }
        for (quantity, total) in [(Quantity.activeEnergy, \RecordedTotals.energy), (.distance, \.distance)] {
            // Many devices write 0 for what they did not measure.
            if !samples.contains(where: { $0[quantity] ?? 0 > 0 }) {
                for index in samples.indices { samples[index][quantity] = nil }
                let shares = shares(laps, total)
                if quantity == .activeEnergy || locations.isEmpty {
                    accrue(quantity, shares)
                } else if environment == .indoor {
                    countTrack(total: shares.reduce(0) { $0 + $1.amount })
                }
            }
        }
        accrue(.ascent, laps, \.ascent, \.ascent)
        accrue(.descent, laps, \.descent, \.descent)
    }

    /// Adds the device's metres up or down, in the shape of those by altitude.
    private mutating func accrue(
        _ quantity: Quantity, _ laps: [RecordedLap], _ total: KeyPath<RecordedTotals, Double?>,
        _ change: KeyPath<Climb.Change, Double>
    ) {
        guard !samples.contains(where: { $0[quantity] != nil }) else { return }
        let shares = shares(laps, total)
        guard !shares.isEmpty else { return }
        let changes = climb.map { Share(ending: $0.position, amount: $0[keyPath: change]) }.filter { $0.amount > 0 }
        accrue(
            quantity,
            shares.flatMap { share in
                let inside = changes.filter { share.time.contains($0.time.upperBound) }
                let sum = inside.reduce(0) { $0 + $1.amount }
                return sum > 0 ? inside.map { Share(time: $0.time, amount: $0.amount * share.amount / sum) } : [share]
            })
    }

    /// The climb by altitude; its positions are microseconds of the wall clock.
    private var climb: [Climb.Change] {
        let altitudes =
            locations.isEmpty
            ? samples.map { (time: $0.time, altitude: $0[.barometricAltitude]) }
            : locations.map { (time: $0.time, altitude: $0.altitude) }
        var (climb, changes) = (Climb(), [Climb.Change]())
        var segment = -1
        for (time, altitude) in altitudes {
            guard let time, let altitude, let index = segments.firstIndex(where: { $0.contains(time) }) else {
                continue
            }
            if index != segment { climb.startLine() }
            segment = index
            climb.add(altitude, at: time.microseconds) { changes.append($0) }
        }
        climb.finish { changes.append($0) }
        return changes
    }

    /// Adds the metres between the positions of an indoor recording, because its route does not count. If the file has a
    /// total, they add up to it. Pauses and jumps count nothing.
    private mutating func countTrack(total: Double) {
        guard !samples.isEmpty, !segments.isEmpty else { return }
        var legs: [(sample: Int, metres: Double)] = []
        var (sample, segment) = (0, 0)
        for (from, to) in zip(locations, locations.dropFirst()) {
            guard let start = from.time, let end = to.time, let metres = from.distance(to: to) else { continue }
            while segment + 1 < segments.count, segments[segment].upperBound < end { segment += 1 }
            guard start < end, segments[segment].contains(start), segments[segment].contains(end),
                metres <= Self.speedLimit * end.seconds(since: start)
            else { continue }
            while sample + 1 < samples.count, let time = samples[sample].time, time < end { sample += 1 }
            legs.append((sample, metres))
        }
        let sum = legs.reduce(0) { $0 + $1.metres }
        guard sum > 0 else { return }
        let scale = total > 0 ? total / sum : 1
        var deltas = DistanceDeltas(base: 0)
        var counted = 0.0
        for leg in legs {
            counted += leg.metres * scale
            // A sum of rounded metres would drift.
            samples[leg.sample].set(.distance, deltas.delta(to: (counted * 100).rounded() / 100))
        }
    }

    private mutating func makeSamples(_ laps: [RecordedLap]) {
        let isKnown = ([totals] + laps.map(\.totals)).contains { totals in
            [totals.distance, totals.energy, totals.averageHeartRate].contains { $0 != nil }
        }
        guard isKnown else { return }
        isMadeFromTotals = true
        let interval = max(Self.made.interval, segments.duration / Self.made.limit)
        samples = segments.flatMap { segment in
            let steps = stride(from: 0, to: segment.duration, by: interval)
            return steps.map { segment.lowerBound + $0 } + [segment.upperBound]
        }.map { time in
            var sample = Sample(time: time)
            let lap = laps.first { $0.time.contains(time) }
            sample.set(.heartRate, lap?.totals.averageHeartRate ?? totals.averageHeartRate)
            return sample
        }
    }

    /// The parts of a total: those of the laps, in proportion, if they add up to it, else the whole. A lap that an editor
    /// cut counts as far as it is inside.
    private func shares(_ laps: [RecordedLap], _ value: KeyPath<RecordedTotals, Double?>) -> [Share] {
        let parts = laps.compactMap { lap -> Share? in
            guard let amount = lap.totals[keyPath: value] else { return nil }
            let inside = activeTime(in: lap.time)
            let whole = max(lap.totals.activeTime ?? 0, inside)
            return Share(time: lap.time, amount: whole > 0 ? amount * inside / whole : amount)
        }
        let sum = parts.reduce(0) { $0 + $1.amount }
        guard let total = totals[keyPath: value] else { return sum > 0 ? parts : [] }
        guard sum > 0, abs(sum - total) <= total * Self.lapTolerance else {
            return [Share(time: start...end, amount: total)]
        }
        return parts.map { Share(time: $0.time, amount: $0.amount * total / sum) }
    }

    private func activeTime(in range: ClosedRange<Timestamp>) -> Double {
        segments.reduce(0) { sum, segment in
            let overlap = (max(segment.lowerBound, range.lowerBound), min(segment.upperBound, range.upperBound))
            return sum + max(0, overlap.1.seconds(since: overlap.0))
        }
    }
}

/// An amount that grew evenly during the active time of a period.
struct Share {
    let time: ClosedRange<Timestamp>
    let amount: Double
}

extension Share {
    /// An amount of the second before a time in microseconds.
    fileprivate init(ending time: Int64, amount: Double) {
        let end = Timestamp(microseconds: time)
        self.init(time: end + -1...end, amount: amount)
    }
}

extension Recording {
    /// Adds amounts to the active samples in or right after their periods: to each what grew since the sample before.
    mutating func accrue(_ quantity: Quantity, _ shares: [Share]) {
        guard var growth = Growth(shares, in: segments) else { return }
        let active = samples.indices.filter { index in
            samples[index].time.map { time in segments.contains { $0.contains(time) } } ?? false
        }
        var counted = 0.0
        for index in active {
            guard let time = samples[index].time else { continue }
            let sum = index == active.last ? growth.total : growth.amount(at: time)
            let delta = max(0, ((sum - counted) * 1_000).rounded() / 1_000)
            guard delta > 0 || growth.range.contains(time) else { continue }
            counted += delta
            samples[index].set(quantity, (samples[index][quantity] ?? 0) + delta)
        }
    }
}

/// The sum of shares over time. Times ascend from call to call.
private struct Growth {
    let range: ClosedRange<Timestamp>
    let total: Double
    private let clock: SegmentClock
    /// Active seconds and the sum there, sorted.
    private var knots: [(at: Double, sum: Double)] = [(0, 0)]
    private var next = 0

    init?(_ shares: [Share], in segments: [ClosedRange<Timestamp>]) {
        let shares = shares.sorted { $0.time.lowerBound < $1.time.lowerBound }
        guard let first = shares.first, let end = shares.map(\.time.upperBound).max() else { return nil }
        range = first.time.lowerBound...end
        clock = SegmentClock(segments)
        var sum = 0.0
        for share in shares {
            // Laps that overlap follow one another.
            let start = max(clock.seconds(to: share.time.lowerBound), knots[knots.count - 1].at)
            knots.append((start, sum))
            sum += share.amount
            knots.append((max(clock.seconds(to: share.time.upperBound), start), sum))
        }
        total = sum
    }

    mutating func amount(at time: Timestamp) -> Double {
        let at = clock.seconds(to: time)
        while next < knots.count, knots[next].at <= at { next += 1 }
        guard next < knots.count else { return total }
        let (from, to) = (knots[max(0, next - 1)], knots[next])
        return from.sum + (to.sum - from.sum) * (to.at > from.at ? (at - from.at) / (to.at - from.at) : 1)
    }
}

/// Seconds of active time before a moment.
private struct SegmentClock {
    private let segments: [ClosedRange<Timestamp>]

    init(_ segments: [ClosedRange<Timestamp>]) {
        self.segments = segments
    }

    func seconds(to time: Timestamp) -> Double {
        segments.reduce(0) { $0 + max(0, min($1.upperBound, time).seconds(since: $1.lowerBound)) }
    }
}

extension Location {
    fileprivate func distance(to other: Location) -> Double? {
        guard let latitude, let longitude, let toLatitude = other.latitude, let toLongitude = other.longitude else {
            return nil
        }
        return Coordinate(latitude: latitude, longitude: longitude)
            .distance(to: Coordinate(latitude: toLatitude, longitude: toLongitude))
    }
}
