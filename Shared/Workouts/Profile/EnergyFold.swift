/// The active energy of a session: measured by devices, estimated for the rest.
///
/// Active time is divided into slots of ten seconds, long enough that deltas that come in lumps give a speed. Each slot
/// keeps sums of heart rate, distance, climb and measured time. So the quantities may be added one after the other or
/// interleaved: the result is the same, as long as each is added in the order of time.
///
/// Positions are microseconds of active time.
package struct EnergyFold: Sendable {
    private struct Slot {
        /// Active kcal by heart rate, times the formula's weight, and the seconds of that weight.
        var kcal = 0.0
        var weight = 0.0
        /// Metres, metres upwards, and the seconds in which the metres are known.
        var meters = 0.0
        var climb = 0.0
        var moved = 0.0
        /// Seconds for which a device measures energy.
        var measured = 0.0
    }

    private static let length: Int64 = 10_000_000
    /// A device measures between two readings up to this far apart.
    private static let measuredGap: Int64 = 300_000_000
    /// The start and the end of a session up to this long are part of a device's measurement.
    private static let edge = Int64(SourceOrder.freshness * 1e6)

    /// Beyond this length nothing is estimated, which bounds the memory of a session with absurd times: ten days.
    private static let limit: Int64 = 864_000_000_000

    private let estimate: EnergyEstimate?
    private var slots: [Slot] = []
    /// The number of slots removed by ``settle(before:)``, their estimate, and the motion in the last one.
    private var settled = 0
    private var settledPart = (kcal: 0.0, seconds: 0.0)
    private var settledMotion: (speed: Double, grade: Double)?
    /// A device's readings: the sum of those that count in full, the last one's position, and those after a time
    /// without.
    private var deviceEnergy = 0.0
    private var lastReading: Int64?
    private var firsts: [(since: Int64, at: Int64, kcal: Double)] = []
    /// Whether no addition changed a removed slot.
    package private(set) var isExact = true

    package init(_ estimate: EnergyEstimate?) {
        self.estimate = estimate
    }

    /// Adds a heart rate that was valid from one position to another.
    package mutating func addHeartRate(_ heartRate: Double, from start: Int64, to end: Int64) {
        guard let rate = estimate?.rate(heartRate: heartRate), rate.weight > 0 else { return }
        spread(from: start, to: end) { slot, seconds in
            slot.weight += rate.weight * seconds
            slot.kcal += rate.weight * rate.kcal * seconds
        }
    }

    /// Adds the metres covered between two positions.
    package mutating func addMeters(_ meters: Double, from start: Int64, to end: Int64) {
        let speed = meters / (Double(end - start) / 1e6)
        spread(from: start, to: end) { slot, seconds in
            slot.meters += speed * seconds
            slot.moved += seconds
        }
    }

    /// Adds the metres of smoothed altitude won or, below zero, lost between two positions.
    package mutating func addClimb(_ climb: Double, from start: Int64, to end: Int64) {
        let rate = climb / (Double(end - start) / 1e6)
        spread(from: start, to: end) { slot, seconds in slot.climb += rate * seconds }
    }

    /// Adds a device's reading of energy since its previous one.
    package mutating func addMeasuredEnergy(_ kcal: Double, at position: Int64) {
        defer { lastReading = position }
        let last = lastReading ?? (position <= Self.edge ? 0 : nil)
        if estimate == nil {
            deviceEnergy += kcal
        } else if let last, position - last <= Self.measuredGap {
            deviceEnergy += kcal
            spread(from: last, to: position) { slot, seconds in slot.measured += seconds }
        } else if lastReading ?? 0 >= Self.limit {
            deviceEnergy += kcal
        } else {
            // The time before is estimated. Only the part of the reading that exceeds the estimate counts.
            firsts.append((lastReading ?? 0, position, kcal))
            if settled > 0 { isExact = false }
        }
    }

    /// Removes slots so far before a position that a device's next reading leaves them unchanged. A live fold calls it
    /// often; it removes some every five minutes.
    package mutating func settle(before position: Int64) {
        var end = min(position, Self.limit) - Self.measuredGap
        // The usual case comes first: a live fold calls this with each reading.
        guard Int(end / Self.length) - settled >= Int(Self.measuredGap / Self.length) else { return }
        for first in firsts where first.at > end { end = min(end, first.since) }
        let count = Int(end / Self.length) - settled
        guard count >= Int(Self.measuredGap / Self.length) else { return }
        deviceEnergy += openExcesses(position).reduce(0) { $0 + ($1.at <= end ? $1.kcal : 0) }
        firsts.removeAll { $0.at <= end }
        for index in 0..<count {
            let part = part(index, seconds: Double(Self.length) / 1e6)
            settledPart.kcal += part.kcal
            settledPart.seconds += part.seconds
        }
        settledMotion = motion(count - 1)
        slots.removeFirst(min(count, slots.count))
        settled += count
    }

    /// Active energy up to a position; `nil` without a device's readings and without an estimate.
    package func total(at end: Int64) -> (kcal: Double, source: EnergySource)? {
        guard estimate != nil || lastReading != nil else { return nil }
        let whole = closed(end)
        var (kcal, seconds) = settledPart
        for index in whole.indices(end) {
            let part = whole.part(index, seconds: whole.seconds(index, end))
            kcal += part.kcal
            seconds += part.seconds
        }
        kcal += deviceEnergy + whole.openExcesses(end).reduce(0) { $0 + $1.kcal }
        return (kcal, lastReading == nil ? .estimate : seconds > 1e-6 ? .mixed : .device)
    }

    /// The estimated energy between each two of some rising positions, of a fold that removed no slots.
    ///
    /// - Parameter end: the length of the session.
    func estimates(between positions: [Int64], end: Int64) -> [Double] {
        let values = closed(end).estimates(at: positions, end: end)
        return zip(values, values.dropFirst()).map { $1 - $0 }
    }

    /// The readings after a time without, each with the part that exceeds the estimate of that time.
    func excesses(_ end: Int64) -> [(at: Int64, kcal: Double)] { closed(end).openExcesses(end) }
}

extension EnergyFold {
    private mutating func spread(from start: Int64, to until: Int64, _ add: (inout Slot, Double) -> Void) {
        let end = min(until, Self.limit)
        guard start < end else { return }
        while Int64(settled + slots.count) * Self.length < end { slots.append(Slot()) }
        var from = start
        while from < end {
            let index = Int(from / Self.length)
            let to = min(end, Int64(index + 1) * Self.length)
            if index >= settled { add(&slots[index - settled], Double(to - from) / 1e6) } else { isExact = false }
            from = to
        }
    }

    /// The estimated energy from the first slot that is left to each position.
    private func estimates(at positions: [Int64], end: Int64) -> [Double] {
        var sums = [0.0]
        for index in indices(end) {
            sums.append(sums[sums.count - 1] + part(index, seconds: seconds(index, end)).kcal)
        }
        return positions.map { position in
            let place = max(0, min(position, end, Self.limit) - Int64(settled) * Self.length)
            let index = Int(place / Self.length)
            guard index + 1 < sums.count else { return sums[sums.count - 1] }
            let fraction = Double(place - Int64(index) * Self.length) / 1e6 / seconds(index, end)
            return sums[index] + (sums[index + 1] - sums[index]) * fraction
        }
    }

    private func openExcesses(_ end: Int64) -> [(at: Int64, kcal: Double)] {
        let estimates = firsts.isEmpty ? [] : estimates(at: firsts.flatMap { [$0.since, $0.at] }, end: end)
        return firsts.indices.map { index in
            let estimated = estimates[2 * index + 1] - estimates[2 * index]
            return (firsts[index].at, max(0, firsts[index].kcal - estimated))
        }
    }

    /// The end of the session counts as measured when a device's last reading is close to it.
    private func closed(_ end: Int64) -> EnergyFold {
        guard estimate != nil, let last = lastReading, end - last <= Self.edge else { return self }
        var whole = self
        whole.spread(from: last, to: end) { slot, seconds in slot.measured += seconds }
        return whole
    }

    /// The indices of slots from the first that is left to the one at a position.
    private func indices(_ end: Int64) -> Range<Int> {
        let count = Int((min(end, Self.limit) + Self.length - 1) / Self.length)
        return 0..<max(0, count - settled)
    }

    /// The seconds of a slot before a position.
    private func seconds(_ index: Int, _ end: Int64) -> Double {
        Double(min(Self.length, end - Int64(settled + index) * Self.length)) / 1e6
    }

    private func motion(_ index: Int) -> (speed: Double, grade: Double)? {
        guard slots.indices.contains(index), slots[index].moved > 0 else { return nil }
        let slot = slots[index]
        return (slot.meters / slot.moved, slot.meters > 0 ? slot.climb / slot.meters : 0)
    }

    /// The estimated kcal of a slot without the time that a device measures, and the seconds of the estimate.
    private func part(_ index: Int, seconds: Double) -> (kcal: Double, seconds: Double) {
        guard let estimate, seconds > 0 else { return (0, 0) }
        let slot = slots.indices.contains(index) ? slots[index] : Slot()
        // A slot without a distance continues the motion of the one before.
        let motion = motion(index) ?? (index > 0 ? motion(index - 1) : settledMotion)
        let rest = max(0, seconds - slot.weight) * estimate.rate(speed: motion?.speed, grade: motion?.grade ?? 0)
        let open = max(0, seconds - slot.measured)
        return ((slot.kcal + rest) * open / seconds, open)
    }
}
