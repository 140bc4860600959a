/// A sum over active time. A reading's amount accrues evenly since the previous reading.
struct Cumulative {
    private var positions: [Int64] = [0]
    private var sums: [Double] = [0]

    init(capacity: Int = 0) {
        positions.reserveCapacity(capacity + 1)
        sums.reserveCapacity(capacity + 1)
    }

    init(_ readings: [Reading], _ timeline: ActiveTimeline, scale: Double = 1) {
        self.init(capacity: readings.count)
        for reading in readings { add(reading.value * scale, at: timeline.position(reading.time)) }
    }

    /// Adds an amount up to a position that is not before the previous one.
    mutating func add(_ amount: Double, at position: Int64) {
        positions.append(position)
        sums.append(total + amount)
    }

    /// The position of the last amount.
    var end: Int64 { positions[positions.count - 1] }

    var total: Double { sums[sums.count - 1] }

    /// The number of readings, and of the start before them.
    var count: Int { positions.count }

    /// A reading's position and the sum up to it; that of the start is 0.
    subscript(index: Int) -> (position: Int64, sum: Double) { (positions[index], sums[index]) }

    /// The last position with the same sum as at `position`: where the next amount begins.
    func departure(from position: Int64) -> Int64 {
        let sum = value(at: position)
        let next = sums.partitioningIndex { $0 > sum + 1e-6 }
        return next < sums.count ? max(position, positions[max(0, next - 1)]) : position
    }

    /// Calls its argument with the start, the end and the amount of each reading.
    func visit(_ body: (Int64, Int64, Double) -> Void) {
        for index in positions.indices.dropFirst() {
            body(positions[index - 1], positions[index], sums[index] - sums[index - 1])
        }
    }

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

    /// The largest amount per second over at least `span` microseconds that end with a reading.
    func largestRate(over span: Int64) -> Double? {
        var first = 0
        var largest: Double?
        for index in positions.indices {
            while first + 1 < index, positions[index] - positions[first + 1] >= span { first += 1 }
            let length = positions[index] - positions[first]
            guard length >= span else { continue }
            largest = max(largest ?? 0, (sums[index] - sums[first]) / (Double(length) / 1e6))
        }
        return largest
    }
}
