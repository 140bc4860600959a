/// The totals of a session's samples, as metrics-aggregator publishes them and the workout record contains them.
///
/// Metres, seconds, m/s, kcal, bpm, watts, cadence per minute, rounded to thousandths. Absent means not measured.
package struct MetricsSummary: Codable, Equatable, Sendable {
    /// The maximum number of splits beside a number of laps, which keeps summary and workout within the size of a
    /// payload.
    ///
    /// - Parameter bytes: the size of all splits and laps; a lap takes 265 of them at most, a split 204.
    package static func splitLimit(laps: Int, bytes: Int = 140_000) -> Int { max(0, (bytes - 265 * laps) / 204) }

    package struct Split: Codable, Equatable, Sendable {
        /// A kilometre or a mile; less for the last.
        package var distance: Double
        /// Active seconds.
        package var duration: Double
        /// Seconds per kilometre.
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
        /// Seconds per kilometre.
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
    package var bests: Bests?
    package var load: TrainingLoad?
    /// Which device counted for each quantity, at most ``CountedSource/limit`` stretches.
    package var sources: [CountedSource]?
    /// The route as one encoded polyline of at most ``RouteSummary/sketchLimit`` points.
    package var sketch: String?

    package init() {}
}

extension MetricsSummary {
    init(
        _ items: CountedItems, route: RouteInput?, laps marks: [Timestamp], units: Units, physiology: Physiology,
        activity: Activity, poolLength: Double?
    ) {
        // One quantity at a time: each needs much memory.
        let total = items.timeline.total
        let way = items.way(route, poolLength: poolLength)
        if let way {
            distance = thousandths(way.meters.total)
            if total > 0 {
                averageSpeed = thousandths(way.meters.total / (Double(total) / 1e6))
                maximumSpeed = way.maximumSpeed(items, route).map { max(thousandths($0), averageSpeed ?? 0) }
            }
            movingDuration = activity.restSpeed.map {
                thousandths(Double(total - way.rest(below: $0, until: total)) / 1e6)
            }
        }
        var (bests, load) = (Bests(), TrainingLoad())
        bests.distance = way.flatMap { items.bestTimes($0, activity, poolLength: poolLength) }
        var parts = SummaryParts(items, way, laps: marks, splitLength: units.splitLength)
        steps = items.cumulative(.steps).map { thousandths($0.total) }
        if items.has(.cadence) {
            (averageCadence, _) = parts.measure(items.values(.cadence), \.averageCadence, nil)
        }
        if items.has(.power) {
            let powers = items.values(.power)
            (averagePower, maximumPower) = parts.measure(powers, \.averagePower, nil)
            bests.power = BestMeans.power(powers)
            if activity.hasPowerLoad { load.addPower(powers, physiology.load) }
        }
        for quantity in Quantity.allCases where !quantity.isNamed && items.has(quantity) {
            addTotals(of: quantity, items)
        }
        var energy = EnergyFold(physiology.energy)
        if let way { way.meters.visit { energy.addMeters($2, from: $0, to: $1) } }
        (ascent, descent) = parts.climb(items, route, &energy)
        if items.has(.heartRate) {
            let rates = items.values(.heartRate)
            (averageHeartRate, maximumHeartRate) = parts.measure(rates, \.averageHeartRate, \.maximumHeartRate)
            rates.visit { energy.addHeartRate($0.value, from: $0.from, to: $0.until) }
            zones = physiology.zones.map { rates.seconds(in: $0).map(thousandths) }
            bests.heartRate = BestMeans.heartRate(rates)
            load.addHeartRate(rates, physiology.load)
        }
        if total > 0 || items.has(.activeEnergy) {
            let found = parts.energy(items, &energy)
            activeEnergy = found.map { thousandths($0.kcal) }
            energySource = found?.source
        }
        (splits, laps) = (parts.splits(activity), parts.laps(activity))
        (self.bests, self.load) = (bests.nonEmpty, load.nonEmpty)
        sources = items.countedSources
        sketch = route?.totals.sketch
    }

    /// Adds the totals of a quantity without properties of its own.
    private mutating func addTotals(of quantity: Quantity, _ items: CountedItems) {
        let totals = quantity.totals
        if totals.contains(.sum), let sum = items.cumulative(quantity)?.total {
            sums = (sums ?? [:]).merging([quantity.name: thousandths(sum)]) { $1 }
        }
        guard totals.contains(.average) || totals.contains(.maximum) else { return }
        let whole = items.values(quantity).statistics().whole
        if totals.contains(.average), let average = whole.average.map(thousandths) {
            averages = (averages ?? [:]).merging([quantity.name: average]) { $1 }
        }
        if totals.contains(.maximum), let maximum = whole.maximum.map(thousandths) {
            maxima = (maxima ?? [:]).merging([quantity.name: maximum]) { $1 }
        }
    }
}

/// Rounds a result to thousandths, so that payloads stay short and readable.
package func thousandths(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
