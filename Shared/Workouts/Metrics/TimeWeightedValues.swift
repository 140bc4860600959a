/// Values on the axis of active time, each valid for a while: the source of time-weighted averages.
struct TimeWeightedValues {
    struct Value {
        let from: Int64
        let until: Int64
        let value: Double
    }

    let values: [Value]

    /// Each reading is valid until the next, for at most 15 s, and never during a pause.
    init(_ readings: [Reading], _ timeline: ActiveTimeline) {
        var values: [Value] = []
        values.reserveCapacity(readings.count)
        var next = readings.first.flatMap { timeline.place($0.time) }
        for (index, reading) in readings.enumerated() {
            guard let place = next else { continue }
            next = index + 1 < readings.count ? timeline.place(readings[index + 1].time) : nil
            var until = min(place.segmentEnd, place.position + Int64(SourceOrder.freshness * 1e6))
            if let next { until = min(until, next.position) }
            values.append(Value(from: place.position, until: max(place.position, until), value: reading.value))
        }
        self.values = values
    }

    var isEmpty: Bool { values.isEmpty }

    /// The average over a stretch of active time, weighted by time; if all readings are valid for no time at all, their
    /// plain average; `nil` without readings. A reading that ends as the stretch begins does not count.
    func average(from start: Int64 = 0, to end: Int64 = .max) -> Double? {
        var weighted = 0.0
        var weights: Int64 = 0
        var sum = 0.0
        var count = 0
        for value in part(from: start, to: end) where isPart(value, from: start, to: end) {
            let weight = max(0, min(value.until, end) - max(value.from, start))
            weighted += value.value * Double(weight)
            weights += weight
            sum += value.value
            count += 1
        }
        if weights > 0 { return weighted / Double(weights) }
        return count > 0 ? sum / Double(count) : nil
    }

    /// The largest value in a stretch of active time. A reading that ends as the stretch begins does not count.
    func maximum(from start: Int64 = 0, to end: Int64 = .max) -> Double? {
        part(from: start, to: end).lazy.filter { isPart($0, from: start, to: end) }.map(\.value).max()
    }

    /// The values that may be valid in a stretch of active time.
    private func part(from start: Int64, to end: Int64) -> ArraySlice<Value> {
        // Below zero every value counts, and no subtraction overflows.
        let earliest = max(start, 0) - Int64(SourceOrder.freshness * 1e6)
        let upper = values.partitioningIndex { $0.from > end }
        return values[min(upper, values.partitioningIndex { $0.from >= earliest })..<upper]
    }

    private func isPart(_ value: Value, from start: Int64, to end: Int64) -> Bool {
        value.from <= end && (value.from >= start || value.until > start)
    }

    /// Seconds in each zone.
    func seconds(in zones: HeartRateZones) -> [Double] {
        var seconds = [Double](repeating: 0, count: HeartRateZones.count)
        for value in values { seconds[zones.zone(of: value.value)] += Double(value.until - value.from) / 1e6 }
        return seconds
    }

    /// The energy that the heart rates of a stretch of active time give.
    func portion(_ energy: EnergyEstimate, from start: Int64 = 0, to end: Int64 = .max) -> EnergyEstimate.Portion {
        var portion = EnergyEstimate.Portion()
        for value in part(from: start, to: end) where value.from <= end && value.until >= start {
            let seconds = Double(max(0, min(value.until, end) - max(value.from, start))) / 1e6
            portion.kcal += (energy.rate(heartRate: value.value) ?? 0) * seconds
            portion.seconds += seconds
        }
        return portion
    }
}
