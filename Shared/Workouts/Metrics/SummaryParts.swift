/// The splits and laps of a session while their totals are computed.
struct SummaryParts {
    /// The totals of a split or a lap.
    struct Part {
        var from: Int64
        var to: Int64
        var distance: Double?
        var averageHeartRate: Double?
        var maximumHeartRate: Double?
        var averageCadence: Double?
        var averagePower: Double?
        var ascent: Double?
        var activeEnergy: Double?

        /// Active seconds.
        var duration: Double { Double(to - from) / 1e6 }

        func pace(_ activity: Activity) -> Double? {
            guard let distance, duration > 0 else { return nil }
            return activity.pace(speed: distance / duration).map(thousandths)
        }
    }

    /// The positions at which splits begin and end, and those of laps.
    private let bounds: [[Int64]]
    private let lapTimes: [Timestamp]
    /// The splits, and the laps.
    private var parts: [[Part]]
    private let total: Int64

    init(_ items: CountedItems, _ way: Way?, laps marks: [Timestamp], splitLength: Double) {
        total = items.timeline.total
        let splits = way.map {
            Self.splits($0.meters, length: splitLength, total: items.timeline.total, laps: marks.count + 1)
        }
        var lapTimes: [Timestamp] = []
        if !marks.isEmpty, let start = items.segments.first?.start, let end = items.segments.last?.end {
            lapTimes = [start] + marks + [end]
        }
        self.lapTimes = lapTimes
        // A mark outside of the segments does not reorder the laps.
        var position: Int64 = 0
        let laps = lapTimes.map { time in
            position = max(position, items.timeline.position(time))
            return position
        }
        bounds = [splits?.bounds ?? [], laps]
        parts = bounds.map { bounds in zip(bounds, bounds.dropFirst()).map { Part(from: $0, to: $1) } }
        for (index, meters) in (splits?.lengths ?? []).enumerated() { parts[0][index].distance = meters }
        if let way {
            for index in parts[1].indices {
                parts[1][index].distance = way.meters.value(at: laps[index + 1]) - way.meters.value(at: laps[index])
            }
        }
    }

    private static func splits(
        _ meters: Cumulative, length: Double, total: Int64, laps: Int
    ) -> (bounds: [Int64], lengths: [Double]) {
        guard meters.total > 0 else { return ([], []) }
        var whole = Int(min(meters.total / length, 1e9))
        // A quotient that was rounded up counts an unfinished split.
        if Double(whole) * length > meters.total { whole -= 1 }
        let limit = MetricsSummary.splitLimit(laps: laps)
        let isCut = whole >= limit
        whole = min(whole, limit)
        var bounds = (0...whole).map { $0 == 0 ? 0 : meters.position(of: Double($0) * length) }
        var lengths = [Double](repeating: length, count: whole)
        let rest = meters.total - Double(whole) * length
        if !isCut, thousandths(rest) > 0 {
            bounds.append(total)
            lengths.append(rest)
        }
        return (bounds, lengths)
    }

    /// Averages a quantity over each part. Returns average and maximum of the session.
    mutating func measure(
        _ values: TimeWeightedValues, _ average: WritableKeyPath<Part, Double?>,
        _ maximum: WritableKeyPath<Part, Double?>?
    ) -> (average: Double?, maximum: Double?) {
        let found = values.statistics(between: bounds)
        for set in parts.indices {
            for index in parts[set].indices {
                parts[set][index][keyPath: average] = found.parts[set][index].average
                if let maximum { parts[set][index][keyPath: maximum] = found.parts[set][index].maximum }
            }
        }
        return (found.whole.average.map(thousandths), found.whole.maximum.map(thousandths))
    }

    /// Ascent and descent as a device counted them, else by barometric altitude if samples have it, else by the route's.
    /// The energy takes the grade from the smoothed altitude.
    mutating func climb(
        _ items: CountedItems, _ route: RouteInput?, _ energy: inout EnergyFold
    ) -> (ascent: Double?, descent: Double?) {
        let climbed = items.climbed(route, &energy)
        let ascents = items.cumulative(.ascent) ?? climbed?.ascents
        if let ascents {
            for set in parts.indices {
                for index in parts[set].indices {
                    let part = parts[set][index]
                    parts[set][index].ascent = ascents.value(at: part.to) - ascents.value(at: part.from)
                }
            }
        }
        let descents = items.cumulative(.descent) ?? climbed?.descents
        return ((ascents?.total).map(thousandths), (descents?.total).map(thousandths))
    }

    /// The session's energy: a device's readings and the estimate of the time without.
    mutating func energy(_ items: CountedItems, _ fold: inout EnergyFold) -> (kcal: Double, source: EnergySource)? {
        let readings = items.readings(.activeEnergy)
        for reading in readings { fold.addMeasuredEnergy(reading.value, at: items.timeline.position(reading.time)) }
        guard let found = fold.total(at: total) else { return nil }
        var excesses = fold.excesses(total)[...]
        var measured = Cumulative(capacity: readings.count)
        for reading in readings {
            let position = items.timeline.position(reading.time)
            let isFirst = excesses.first?.at == position
            measured.add(isFirst ? excesses.removeFirst().kcal : reading.value, at: position)
        }
        for set in parts.indices {
            let estimates = fold.estimates(between: bounds[set], end: total)
            for index in parts[set].indices {
                let part = parts[set][index]
                parts[set][index].activeEnergy =
                    estimates[index] + measured.value(at: part.to) - measured.value(at: part.from)
            }
        }
        return found
    }

    func splits(_ activity: Activity) -> [MetricsSummary.Split] {
        parts[0].map { part in
            MetricsSummary.Split(
                distance: thousandths(part.distance ?? 0), duration: thousandths(part.duration),
                pace: part.pace(activity), averageHeartRate: part.averageHeartRate.map(thousandths),
                maximumHeartRate: part.maximumHeartRate.map(thousandths),
                averageCadence: part.averageCadence.map(thousandths),
                averagePower: part.averagePower.map(thousandths), ascent: part.ascent.map(thousandths),
                activeEnergy: part.activeEnergy.map(thousandths))
        }
    }

    func laps(_ activity: Activity) -> [MetricsSummary.Lap] {
        parts[1].indices.map { index in
            let part = parts[1][index]
            return MetricsSummary.Lap(
                startedAt: lapTimes[index], endedAt: lapTimes[index + 1], duration: thousandths(part.duration),
                distance: part.distance.map(thousandths), activeEnergy: part.activeEnergy.map(thousandths),
                averageHeartRate: part.averageHeartRate.map(thousandths),
                maximumHeartRate: part.maximumHeartRate.map(thousandths), pace: part.pace(activity),
                averageCadence: part.averageCadence.map(thousandths),
                averagePower: part.averagePower.map(thousandths), ascent: part.ascent.map(thousandths))
        }
    }
}

extension CountedItems {
    /// Ascent and descent by barometric altitude, else by the route's; `nil` without altitudes. Adds the change of the
    /// smoothed altitude to the energy.
    func climbed(
        _ route: RouteInput?, _ energy: inout EnergyFold
    ) -> (ascents: Cumulative, descents: Cumulative)? {
        var (climb, smoothed) = (Climb(), SmoothedAltitude())
        var (ascents, descents) = (Cumulative(), Cumulative())
        var last: (segment: Int, position: Int64)?
        func count(_ change: Climb.Change) {
            // What a change adds is that of the second before it.
            let since = change.position - 1_000_000
            if ascents.end < since {
                ascents.add(0, at: since)
                descents.add(0, at: since)
            }
            ascents.add(change.ascent, at: change.position)
            descents.add(change.descent, at: change.position)
        }
        func add(_ altitude: Double, _ accuracy: Double, at time: Timestamp) {
            guard let place = timeline.place(time) else { return }
            if place.segment != last?.segment {
                climb.startLine()
                smoothed.startLine()
            }
            let rise = smoothed.add(altitude, at: time.microseconds)
            energy.addClimb(rise, from: last?.position ?? 0, to: place.position)
            climb.add(altitude, at: place.position, accuracy: accuracy, counting: count)
            last = (place.segment, place.position)
        }
        if has(.barometricAltitude) {
            for reading in readings(.barometricAltitude) { add(reading.value, .nan, at: reading.time) }
        } else if let track = route?.track, let altitudes = track[.altitude] {
            let accuracies = track[.verticalAccuracy]
            for (row, time) in track.times.enumerated() {
                if let altitude = altitudes[row] { add(altitude, accuracies?[row] ?? .nan, at: time) }
            }
        }
        climb.finish(counting: count)
        return last == nil ? nil : (ascents, descents)
    }
}
