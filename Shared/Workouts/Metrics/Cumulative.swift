/// A sum over active time. A reading's amount accrues evenly since the previous reading.
struct Cumulative {
    private var positions: [Int64] = [0]
    private var sums: [Double] = [0]

    init(_ readings: [Reading], _ timeline: ActiveTimeline) {
        self.init(readings.lazy.map { ($0.time, $0.value) }, timeline)
    }

    /// - Parameter amounts: in the order of time.
    init(_ amounts: some Collection<(time: Timestamp, value: Double)>, _ timeline: ActiveTimeline) {
        positions.reserveCapacity(amounts.count + 1)
        sums.reserveCapacity(amounts.count + 1)
        for amount in amounts {
            positions.append(timeline.position(amount.time))
            sums.append(total + amount.value)
        }
    }

    var total: Double { sums[sums.count - 1] }

    /// The sum at a moment of active time. An amount at the session's start belongs to the following time.
    func value(at position: Int64) -> Double {
        guard position > 0 else { return 0 }
        let index = positions.partitioningIndex { $0 > position }
        guard index < positions.count else { return total }
        let span = positions[index] - positions[index - 1]
        let fraction = Double(position - positions[index - 1]) / Double(span)
        return sums[index - 1] + (sums[index] - sums[index - 1]) * fraction
    }

    /// The moment of active time at which the sum first reaches `value`, which must lie within the total.
    func position(of value: Double) -> Int64 {
        let index = sums.partitioningIndex { $0 >= value }
        guard index > 0 else { return 0 }
        let fraction = (value - sums[index - 1]) / (sums[index] - sums[index - 1])
        return positions[index - 1] + Int64((Double(positions[index] - positions[index - 1]) * fraction).rounded())
    }
}
