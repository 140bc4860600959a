/// Finds the highest means of a quantity over durations, each inside of one segment. They begin or end where a value
/// begins or ends.
struct BestMeans {
    struct Best {
        /// Seconds.
        let duration: Double
        let mean: Double
        /// The active time at its beginning.
        let start: Double
    }

    private let values: TimeWeightedValues
    /// Microseconds for which a value is held, at most.
    private let hold: Int64
    /// Percent of the time with a value, at least; `nil` if the time without counts as 0.
    private let coverage: Int64?

    // The points of the current segment between which the value is constant, with the integral of the value and the
    // known time up to each.
    private var positions: [Int64] = []
    private var integrals: [Double] = []
    private var known: [Int64] = []

    /// The greatest mean in thousandths, and the first position at which it begins.
    private var bests: [(mean: Int64, start: Int64)?] = []

    private init(_ values: TimeWeightedValues, hold: Int64, coverage: Int64?) {
        self.values = values
        self.hold = hold
        self.coverage = coverage
    }

    /// - Parameter durations: seconds.
    private mutating func search(_ durations: [Double]) -> [Best] {
        let spans = durations.map { Int64($0 * 1e6) }
        let shortest = spans.min() ?? 0
        bests = spans.map { _ in nil }
        var segment: Int?
        func end(_ search: inout BestMeans) {
            guard let segment else { return }
            search.extend(to: search.values.timeline.positions(segment).upperBound)
            for (number, span) in spans.enumerated() { search.searchSegment(span, number) }
        }
        values.visit { value in
            let range = values.timeline.positions(value.segment)
            guard range.upperBound - range.lowerBound >= shortest else { return }
            if value.segment != segment {
                end(&self)
                segment = value.segment
                start(at: range.lowerBound)
            }
            add(value)
        }
        end(&self)
        return zip(durations, bests).compactMap { duration, best in
            best.map {
                Best(duration: duration, mean: Double($0.mean) / 1_000, start: thousandths(Double($0.start) / 1e6))
            }
        }
    }

    private mutating func start(at position: Int64) {
        positions.removeAll(keepingCapacity: true)
        integrals.removeAll(keepingCapacity: true)
        known.removeAll(keepingCapacity: true)
        addPoint(position, 0, 0)
    }

    private mutating func addPoint(_ position: Int64, _ integral: Double, _ time: Int64) {
        positions.append(position)
        integrals.append(integral)
        known.append(time)
    }

    /// Adds time without a value.
    private mutating func extend(to position: Int64) {
        let last = positions.count - 1
        if positions[last] < position { addPoint(position, integrals[last], known[last]) }
    }

    private mutating func add(_ value: TimeWeightedValues.Value) {
        let span = min(value.until - value.from, hold)
        guard span > 0 else { return }
        extend(to: value.from)
        let last = positions.count - 1
        addPoint(value.from + span, integrals[last] + value.value * Double(span), known[last] + span)
    }

    private mutating func searchSegment(_ span: Int64, _ number: Int) {
        guard let last = positions.last, last - positions[0] >= span else { return }
        var end = 0
        for start in positions.indices {
            let position = positions[start] + span
            guard position <= last else { break }
            while positions[end + 1] < position { end += 1 }
            let (integral, time) = values(at: position, after: end)
            offer(number, span, integral - integrals[start], time - known[start], from: positions[start])
        }
        var start = 0
        for end in positions.indices {
            let position = positions[end] - span
            guard position >= positions[0] else { continue }
            while positions[start + 1] < position { start += 1 }
            let (integral, time) = values(at: position, after: start)
            offer(number, span, integrals[end] - integral, known[end] - time, from: position)
        }
    }

    private func values(at position: Int64, after index: Int) -> (integral: Double, known: Int64) {
        let length = positions[index + 1] - positions[index]
        let share = Double(position - positions[index]) / Double(length)
        // In a stretch all of the time is known or none.
        let time = known[index + 1] > known[index] ? position - positions[index] : 0
        return (integrals[index] + (integrals[index + 1] - integrals[index]) * share, known[index] + time)
    }

    private mutating func offer(_ number: Int, _ span: Int64, _ integral: Double, _ time: Int64, from start: Int64) {
        if let coverage, 100 * time < coverage * span { return }
        let mean = Int64((1_000 * integral / Double(coverage == nil ? span : time)).rounded())
        guard mean > 0 else { return }
        if let best = bests[number], best.mean > mean || (best.mean == mean && best.start <= start) { return }
        bests[number] = (mean, start)
    }
}

extension BestMeans {
    private static let powerDurations: [Double] = [5, 60, 300, 1_200, 3_600]
    private static let heartRateDurations: [Double] = [1_200]

    /// The highest mean power. A value is held for at most 3 s; unknown power counts as 0.
    static func power(_ values: TimeWeightedValues) -> [Bests.Power]? {
        var search = BestMeans(values, hold: 3_000_000, coverage: nil)
        let found = search.search(powerDurations).map { Bests.Power(s: $0.duration, w: $0.mean, t: $0.start) }
        return found.isEmpty ? nil : found
    }

    /// The highest mean heart rate, where at least 95 % of the time has one.
    static func heartRate(_ values: TimeWeightedValues) -> [Bests.HeartRate]? {
        var search = BestMeans(values, hold: .max, coverage: 95)
        let found = search.search(heartRateDurations).map {
            Bests.HeartRate(s: $0.duration, bpm: $0.mean, t: $0.start)
        }
        return found.isEmpty ? nil : found
    }
}
