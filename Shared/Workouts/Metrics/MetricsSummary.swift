/// The totals of a session's samples, as metrics-aggregator publishes them and the workout record contains them.
///
/// Metres, seconds, m/s, kcal, bpm, watts, cadence per minute, rounded to thousandths. Absent means not measured.
package struct MetricsSummary: Codable, Equatable, Sendable {
    /// The maximum number of splits, which keeps a summary within the size of a payload.
    package static let splitLimit = 1_000

    package struct Split: Codable, Equatable, Sendable {
        /// A kilometre or a mile; less for the last.
        package var distance: Double
        /// Active seconds.
        package var duration: Double
        /// Seconds per kilometre; swimming, per 100 m.
        package var pace: Double?
        package var averageHeartRate: Double?
        package var maximumHeartRate: Double?
        package var averageCadence: Double?
        package var averagePower: Double?
        package var ascent: Double?
        package var activeEnergy: Double?
    }

    package struct Lap: Codable, Equatable, Sendable {
        package var startedAt: Timestamp
        package var endedAt: Timestamp
        /// Active seconds, pauses left out.
        package var duration: Double
        package var distance: Double?
        package var activeEnergy: Double?
        package var averageHeartRate: Double?
        package var maximumHeartRate: Double?
        /// Seconds per kilometre; swimming, per 100 m.
        package var pace: Double?
        package var averageCadence: Double?
        package var averagePower: Double?
        package var ascent: Double?
    }

    package var distance: Double?
    package var activeEnergy: Double?
    package var energySource: EnergySource?
    /// Active seconds without stretches at rest; `nil` without a distance.
    package var movingDuration: Double?
    /// Metres.
    package var ascent: Double?
    package var descent: Double?
    package var averageHeartRate: Double?
    package var maximumHeartRate: Double?
    package var averageSpeed: Double?
    package var maximumSpeed: Double?
    package var averageCadence: Double?
    package var averagePower: Double?
    package var maximumPower: Double?
    package var steps: Double?
    /// The totals of all other quantities, by name; `nil` without any.
    package var averages: [String: Double]?
    package var maxima: [String: Double]?
    package var sums: [String: Double]?
    /// Seconds in each of five heart rate zones; `nil` when no maximum heart rate is known.
    package var zones: [Double]?
    package var splits: [Split] = []
    package var laps: [Lap] = []

    package init() {}
}

extension MetricsSummary {
    init(
        _ items: CountedItems, route: RouteInput?, laps marks: [Timestamp], units: Units, physiology: Physiology,
        activity: Activity, poolLength: Double?
    ) {
        // One quantity at a time: each needs much memory.
        let total = items.timeline.total
        let speed = items.values(.speed)
        maximumSpeed = speed.maximum().map(thousandths)
        let measuredSpeed = speed.average()
        _ = consume speed
        averageCadence = items.values(.cadence).average().map(thousandths)
        (averagePower, maximumPower) = Self.averageAndMaximum(items.values(.power))
        steps = items.cumulative(.steps).map { thousandths($0.total) }
        for quantity in Quantity.allCases where !quantity.isNamed && items.has(quantity) {
            addTotals(of: quantity, items)
        }
        let heartRate = items.values(.heartRate)
        (averageHeartRate, maximumHeartRate) = Self.averageAndMaximum(heartRate)
        let meters = items.cumulative(.distance)
        let energy = items.cumulative(.activeEnergy)
        distance = meters.map { thousandths($0.total) }
        if let meters, total > 0 { averageSpeed = thousandths(meters.total / (Double(total) / 1e6)) }
        let average = averageSpeed ?? measuredSpeed
        let kcal = { (from: Int64, to: Int64) -> Double? in
            if let energy { return energy.value(at: to) - energy.value(at: from) }
            return physiology.energy.map { estimate in
                estimate.energy(
                    heartRate: heartRate.portion(estimate, from: from, to: to), active: Double(to - from) / 1e6,
                    speed: average)
            }
        }
        if let energy {
            activeEnergy = thousandths(energy.total)
            energySource = .device
        } else if total > 0, let estimated = kcal(0, total) {
            activeEnergy = thousandths(estimated)
            energySource = .estimate
        }
        if let limits = physiology.zones, !heartRate.isEmpty {
            zones = heartRate.seconds(in: limits).map(thousandths)
        }
        splits = Self.splits(meters, length: units.splitLength, total: total, heartRate: heartRate)
        laps = Self.laps(
            marks, items.segments, items.timeline, distance: meters, energy: kcal, heartRate: heartRate)
    }

    private static func averageAndMaximum(_ values: TimeWeightedValues) -> (Double?, Double?) {
        (values.average().map(thousandths), values.maximum().map(thousandths))
    }

    /// Adds the totals of a quantity without properties of its own.
    private mutating func addTotals(of quantity: Quantity, _ items: CountedItems) {
        let totals = quantity.totals
        if totals.contains(.sum), let sum = items.cumulative(quantity)?.total {
            sums = (sums ?? [:]).merging([quantity.name: thousandths(sum)]) { $1 }
        }
        guard totals.contains(.average) || totals.contains(.maximum) else { return }
        let (average, maximum) = Self.averageAndMaximum(items.values(quantity))
        if totals.contains(.average), let average {
            averages = (averages ?? [:]).merging([quantity.name: average]) { $1 }
        }
        if totals.contains(.maximum), let maximum {
            maxima = (maxima ?? [:]).merging([quantity.name: maximum]) { $1 }
        }
    }

    static func splits(
        _ distance: Cumulative?, length: Double, total: Int64, heartRate: TimeWeightedValues
    ) -> [Split] {
        guard let distance, distance.total > 0 else { return [] }
        var whole = Int(distance.total / length)
        // A quotient that was rounded up counts an unfinished split.
        if Double(whole) * length > distance.total { whole -= 1 }
        let isCut = whole >= splitLimit
        whole = min(whole, splitLimit)
        var ends = (0..<whole).map { distance.position(of: Double($0 + 1) * length) }
        var lengths = [Double](repeating: length, count: whole)
        let rest = distance.total - Double(whole) * length
        if !isCut, thousandths(rest) > 0 {
            ends.append(total)
            lengths.append(rest)
        }
        let starts = [0] + ends.dropLast()
        return ends.indices.map { index in
            Split(
                distance: thousandths(lengths[index]), duration: thousandths(Double(ends[index] - starts[index]) / 1e6),
                averageHeartRate: heartRate.average(from: starts[index], to: ends[index]).map(thousandths))
        }
    }

    static func laps(
        _ marks: [Timestamp], _ segments: [Segment], _ timeline: ActiveTimeline, distance: Cumulative?,
        energy: (Int64, Int64) -> Double?, heartRate: TimeWeightedValues
    ) -> [Lap] {
        guard !marks.isEmpty, let start = segments.first?.start, let end = segments.last?.end else { return [] }
        let bounds = [start] + marks + [end]
        return bounds.indices.dropLast().map { index in
            let from = timeline.position(bounds[index])
            let to = timeline.position(bounds[index + 1])
            return Lap(
                startedAt: bounds[index], endedAt: bounds[index + 1], duration: thousandths(Double(to - from) / 1e6),
                distance: distance.map { thousandths($0.value(at: to) - $0.value(at: from)) },
                activeEnergy: energy(from, to).map(thousandths),
                averageHeartRate: heartRate.average(from: from, to: to).map(thousandths),
                maximumHeartRate: heartRate.maximum(from: from, to: to).map(thousandths))
        }
    }
}

/// Rounds a result to thousandths, so that payloads stay short and readable.
func thousandths(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
