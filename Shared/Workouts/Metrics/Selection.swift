/// One reading of one quantity that counts.
struct Reading: Equatable {
    /// Its place among all items of the session in the order (`c`, device, number).
    let row: Int
    /// The place of its device among those of the session, by name.
    let source: Int
    let time: Timestamp
    /// Active microseconds before it.
    let position: Int64
    /// Active microseconds before the end of its segment.
    let segmentEnd: Int64
    /// The previous reading of its own source; `nil` for the source's first.
    let previous: Timestamp?
    var value: Double
}

/// Selects the readings of one quantity that count.
///
/// Sources are sorted by preference. A gap of more than 15 s of active time in a source's readings belongs to the next
/// source that has any in it. The beginning and the end of the session bound the first and the last gap.
struct Selection {
    private let sources: [[Reading]]
    private(set) var readings: [Reading] = []

    /// - Parameter sources: the counted readings of each source, preferred source first, each sorted by time.
    init(sources: [[Reading]], total: Int64) {
        self.sources = sources
        fill(
            rank: 0, from: Edge(time: .init(microseconds: .min), position: 0),
            to: Edge(time: .init(microseconds: .max), position: total))
    }

    private struct Edge {
        let time: Timestamp
        let position: Int64
    }

    private mutating func fill(rank: Int, from: Edge, to: Edge) {
        guard rank < sources.count else { return }
        let source = sources[rank]
        var last = from
        var index = source.partitioningIndex { $0.time > from.time }
        while index < source.count, source[index].time < to.time {
            let next = Edge(time: source[index].time, position: source[index].position)
            fillGap(after: rank, from: last, to: next)
            readings.append(source[index])
            last = next
            index += 1
        }
        if last.time == from.time {
            fill(rank: rank + 1, from: from, to: to)
        } else {
            fillGap(after: rank, from: last, to: to)
        }
    }

    private mutating func fillGap(after rank: Int, from: Edge, to: Edge) {
        guard to.position - from.position > Int64(SourceOrder.freshness * 1e6) else { return }
        fill(rank: rank + 1, from: from, to: to)
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
