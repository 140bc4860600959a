/// Values that hold for a while, on the axis of active time: what time-weighted averages are made of.
struct Holds {
    struct Hold {
        let from: Int64
        let until: Int64
        let value: Double
    }

    let holds: [Hold]

    /// Each reading holds until the next, 15 s at most, and never over a pause.
    init(_ readings: [Reading]) {
        holds = readings.indices.map { index in
            let reading = readings[index]
            var until = min(reading.segmentEnd, reading.position + Int64(SourceOrder.freshness * 1e6))
            if index + 1 < readings.count { until = min(until, readings[index + 1].position) }
            return Hold(from: reading.position, until: max(reading.position, until), value: reading.value)
        }
    }

    var isEmpty: Bool { holds.isEmpty }

    /// The average over a stretch of active time, weighted by time; of readings that hold for no time at all, their
    /// plain average; `nil` without readings. One that ends as the stretch begins is none of it.
    func average(from start: Int64 = 0, to end: Int64 = .max) -> Double? {
        var weighted = 0.0
        var weights: Int64 = 0
        var sum = 0.0
        var count = 0
        for hold in holds where isPart(hold, from: start, to: end) {
            let weight = max(0, min(hold.until, end) - max(hold.from, start))
            weighted += hold.value * Double(weight)
            weights += weight
            sum += hold.value
            count += 1
        }
        if weights > 0 { return weighted / Double(weights) }
        return count > 0 ? sum / Double(count) : nil
    }

    /// The largest value that holds in a stretch of active time; one that ends as the stretch begins does not.
    func maximum(from start: Int64 = 0, to end: Int64 = .max) -> Double? {
        holds.lazy.filter { isPart($0, from: start, to: end) }.map(\.value).max()
    }

    private func isPart(_ hold: Hold, from start: Int64, to end: Int64) -> Bool {
        hold.from <= end && (hold.from >= start || hold.until > start)
    }

    /// Seconds in each zone.
    func seconds(in zones: HeartRateZones) -> [Double] {
        var seconds = [Double](repeating: 0, count: HeartRateZones.count)
        for hold in holds { seconds[zones.zone(of: hold.value)] += Double(hold.until - hold.from) / 1e6 }
        return seconds
    }

    /// What the heart rates of a stretch of active time say of its energy.
    func portion(_ energy: EnergyEstimate, from start: Int64 = 0, to end: Int64 = .max) -> EnergyEstimate.Portion {
        var portion = EnergyEstimate.Portion()
        for hold in holds where hold.from <= end && hold.until >= start {
            let seconds = Double(max(0, min(hold.until, end) - max(hold.from, start))) / 1e6
            portion.kcal += (energy.rate(heartRate: hold.value) ?? 0) * seconds
            portion.seconds += seconds
        }
        return portion
    }
}
