/// One reading of one quantity that counts, in 32 bytes: its place in the session follows from its time.
struct Reading: Equatable {
    let time: Timestamp
    var value: Double
    /// Microseconds; the lowest number without a previous reading.
    private var previousTime: Int64
    private let compactRow: UInt32
    private let compactSource: UInt16

    init(row: some BinaryInteger, source: Int, time: Timestamp, previous: Timestamp?, value: Double) {
        self.time = time
        self.value = value
        previousTime = previous?.microseconds ?? .min
        compactRow = UInt32(row)
        compactSource = UInt16(source)
    }

    /// Its place among all items of the session in the order (`c`, device, number).
    var row: Int { Int(compactRow) }
    /// The place of its device among those of the session, by name.
    var source: Int { Int(compactSource) }
    /// The previous reading of its own source; `nil` for the source's first.
    var previous: Timestamp? {
        get { previousTime == .min ? nil : Timestamp(microseconds: previousTime) }
        set { previousTime = newValue?.microseconds ?? .min }
    }
}

/// Selects the readings of one quantity that count: the preferred source's, and others' in its gaps.
struct Selection {
    private(set) var readings: [Reading] = []

    /// - Parameter sources: the counted readings of each source, preferred source first, each sorted by time.
    init(sources: [[Reading]], timeline: ActiveTimeline) {
        if sources.count == 1 {
            readings = sources[0]
        } else {
            readings.reserveCapacity(sources.reduce(0) { $0 + $1.count })
            GapFilling(sources.map { $0.lazy.map(\.time) }, timeline).visit { readings.append(sources[$0][$1]) }
        }
    }

    /// Converts deltas to their contributions to the sum. A delta covers the time since its source's previous reading.
    /// Only the part that exceeds the additions of other sources meanwhile counts, and never less than zero.
    mutating func countDeltas() {
        var sums = [0.0]
        sums.reserveCapacity(readings.count + 1)
        for index in readings.indices {
            let reading = readings[index]
            let before = reading.previous.map { previous in
                readings[..<index].partitioningIndex { $0.time > previous }
            }
            let meanwhile = sums[index] - sums[before ?? 0]
            readings[index].value = max(0, reading.value - meanwhile)
            sums.append(sums[index] + readings[index].value)
        }
    }
}

/// Chooses among the sources of one quantity by the times of their values.
///
/// Sources are sorted by preference. A gap of more than 15 s of active time in a source's values belongs to the next
/// source that has any in it. The beginning and the end of the session bound the first and the last gap.
struct GapFilling<Times: RandomAccessCollection> where Times.Element == Timestamp, Times.Index == Int {
    private let sources: [Times]
    private let timeline: ActiveTimeline

    /// - Parameter sources: the times of each source's values in order, preferred source first.
    init(_ sources: [Times], _ timeline: ActiveTimeline) {
        self.sources = sources
        self.timeline = timeline
    }

    private struct Edge {
        let time: Timestamp
        let position: Int64
    }

    /// Calls `body` with the source and the index of each value that counts, in the order of time.
    func visit(_ body: (_ source: Int, _ index: Int) -> Void) {
        fill(
            rank: 0, from: Edge(time: .init(microseconds: .min), position: 0),
            to: Edge(time: .init(microseconds: .max), position: timeline.total), body)
    }

    private func fill(rank: Int, from: Edge, to: Edge, _ body: (Int, Int) -> Void) {
        guard rank < sources.count else { return }
        let source = sources[rank]
        var last = from
        var index = source.partitioningIndex { $0 > from.time }
        while index < source.count, source[index] < to.time {
            let next = Edge(time: source[index], position: timeline.position(source[index]))
            fillGap(after: rank, from: last, to: next, body)
            body(rank, index)
            last = next
            index += 1
        }
        if last.time == from.time {
            fill(rank: rank + 1, from: from, to: to, body)
        } else {
            fillGap(after: rank, from: last, to: to, body)
        }
    }

    private func fillGap(after rank: Int, from: Edge, to: Edge, _ body: (Int, Int) -> Void) {
        guard to.position - from.position > Int64(SourceOrder.freshness * 1e6) else { return }
        fill(rank: rank + 1, from: from, to: to, body)
    }
}

extension RandomAccessCollection {
    /// The first index whose element, and every one after it, fulfils the predicate.
    func partitioningIndex(where predicate: (Element) -> Bool) -> Index {
        var low = startIndex
        var count = self.count
        while count > 0 {
            let half = count / 2
            let middle = index(low, offsetBy: half)
            if predicate(self[middle]) {
                count = half
            } else {
                low = index(after: middle)
                count -= half + 1
            }
        }
        return low
    }
}

/// The order of preference of devices for one quantity.
package enum SourceOrder {
    /// A source is silent after this many seconds: its value is unknown, and the next source counts.
    package static let freshness = 15.0

    private static let kinds: [Substring] = ["watch", "strap", "pod", "phone"]
    private static let heartRateKinds: [Substring] = ["strap", "watch", "pod", "phone"]

    /// Whether `left` is preferred to `right`: by kind, ties by name. A strap is preferred for heart rate.
    package static func prefers(_ left: Device, to right: Device, for quantity: Quantity) -> Bool {
        let order = quantity == .heartRate ? heartRateKinds : kinds
        let ranks = [left, right].map { order.firstIndex(of: $0.kind) ?? order.count }
        return (ranks[0], left) < (ranks[1], right)
    }
}
