/// Values on the axis of active time, each valid for a while: the source of time-weighted averages.
struct TimeWeightedValues {
    struct Value {
        let from: Int64
        let until: Int64
        let value: Double
        /// The index of its segment.
        let segment: Int
    }

    /// Averages and maxima over a stretch of active time.
    struct Statistics {
        private var weighted = 0.0
        private var weight: Int64 = 0
        private var sum = 0.0
        private var count = 0
        private(set) var maximum: Double?

        /// Weighted by time; if all readings are valid for no time at all, their plain average; `nil` without readings.
        var average: Double? {
            if weight > 0 { return weighted / Double(weight) }
            return count > 0 ? sum / Double(count) : nil
        }

        /// Adds a value that is valid for some microseconds of the stretch.
        mutating func add(_ value: Double, for microseconds: Int64) {
            weighted += value * Double(microseconds)
            weight += microseconds
            sum += value
            count += 1
            maximum = max(maximum ?? value, value)
        }
    }

    private let readings: [Reading]
    private let quantity: Quantity
    let timeline: ActiveTimeline

    /// Each reading is valid until the next, for at most 15 s, and never during a pause.
    init(_ readings: [Reading], of quantity: Quantity, _ timeline: ActiveTimeline) {
        self.readings = readings
        self.quantity = quantity
        self.timeline = timeline
    }

    var isEmpty: Bool { readings.isEmpty }

    /// Calls its argument with each value in the order of time.
    func visit(_ body: (Value) -> Void) {
        var next = readings.first.flatMap { timeline.place($0.time) }
        for (index, reading) in readings.enumerated() {
            guard let place = next else { continue }
            next = index + 1 < readings.count ? timeline.place(readings[index + 1].time) : nil
            var until = min(place.segmentEnd, place.position + quantity.validity(of: reading.value))
            if let next { until = min(until, next.position) }
            body(
                Value(
                    from: place.position, until: max(place.position, until), value: reading.value,
                    segment: place.segment))
        }
    }

    /// The statistics of the whole session and of the stretches between rising positions.
    ///
    /// A reading that ends as a stretch begins is no part of it; one at the end of a stretch is.
    func statistics(between bounds: [[Int64]] = []) -> (whole: Statistics, parts: [[Statistics]]) {
        var whole = Statistics()
        var parts = bounds.map { [Statistics](repeating: Statistics(), count: max(0, $0.count - 1)) }
        var firsts = [Int](repeating: 0, count: bounds.count)
        visit { value in
            guard quantity.counts(value.value) else { return }
            whole.add(value.value, for: value.until - value.from)
            for set in bounds.indices {
                let bounds = bounds[set]
                while firsts[set] + 1 < bounds.count, bounds[firsts[set] + 1] < value.from { firsts[set] += 1 }
                var index = firsts[set]
                while index + 1 < bounds.count, bounds[index] <= value.from || bounds[index] < value.until {
                    if value.from >= bounds[index] || value.until > bounds[index] {
                        let weight = min(value.until, bounds[index + 1]) - max(value.from, bounds[index])
                        parts[set][index].add(value.value, for: max(0, weight))
                    }
                    index += 1
                }
            }
        }
        return (whole, parts)
    }

    /// Seconds in each zone.
    func seconds(in zones: HeartRateZones) -> [Double] {
        var seconds = [Double](repeating: 0, count: HeartRateZones.count)
        visit { seconds[zones.zone(of: $0.value)] += Double($0.until - $0.from) / 1e6 }
        return seconds
    }
}

extension Quantity {
    /// Microseconds for which a value is valid without a successor. A power meter that stops sends one zero and then
    /// nothing: that zero lasts 3 s.
    func validity(of value: Double) -> Int64 {
        self == .power && value == 0 ? 3_000_000 : Int64(SourceOrder.freshness * 1e6)
    }

    /// Whether a value is part of the average. Cadence leaves out zeros, as bicycle computers do.
    func counts(_ value: Double) -> Bool { self != .cadence || value > 0 }
}
