/// Values on the axis of active time, each valid for a while: the source of time-weighted averages.
struct TimeWeightedValues {
    struct Value {
        let from: Int64
        let until: Int64
        let value: Double
    }

    let values: [Value]

    /// Each reading is valid until the next, for at most 15 s, and never during a pause.
    init(_ readings: [Reading]) {
        values = readings.indices.map { index in
            let reading = readings[index]
            var until = min(reading.segmentEnd, reading.position + Int64(SourceOrder.freshness * 1e6))
            if index + 1 < readings.count { until = min(until, readings[index + 1].position) }
            return Value(from: reading.position, until: max(reading.position, until), value: reading.value)
        }
    }

    var isEmpty: Bool { values.isEmpty }

    /// The average over a stretch of active time, weighted by time; if all readings are valid for no time at all, their
    /// plain average; `nil` without readings. A reading that ends as the stretch begins does not count.
    func average(from start: Int64 = 0, to end: Int64 = .max) -> Double? {
        var weighted = 0.0
        var weights: Int64 = 0
        var sum = 0.0
        var count = 0
        for value in values where isPart(value, from: start, to: end) {
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
        values.lazy.filter { isPart($0, from: start, to: end) }.map(\.value).max()
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
        for value in values where value.from <= end && value.until >= start {
            let seconds = Double(max(0, min(value.until, end) - max(value.from, start))) / 1e6
            portion.kcal += (energy.rate(heartRate: value.value) ?? 0) * seconds
            portion.seconds += seconds
        }
        return portion
    }
}
