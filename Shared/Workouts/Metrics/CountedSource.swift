/// A stretch of a session in which a device gave the values of a quantity that count.
package struct CountedSource: Codable, Hashable, Sendable {
    /// The quantity's name in words joined by underscores, such as `heart_rate`.
    package var quantity: String
    package var device: Device
    /// The active seconds of its first and last value.
    package var from: Double
    package var to: Double

    /// The most entries of a session.
    package static let limit = 50
}

/// The quantities of a source in closed segments, and the positions of their first and last values.
struct SourceSpans {
    struct Span {
        var first: Int64 = .max
        var last: Int64 = .min
        /// Whether a value follows more than 15 s after the one before, or before it.
        var hasGap = false
    }

    private(set) var present: UInt64 = 0
    private var spans = [Span](repeating: Span(), count: Quantity.allCases.count)

    mutating func add(_ sample: Sample, at position: Int64) {
        for quantity in sample.quantities {
            let index = quantity.rawValue
            let isKnown = present >> UInt64(index) & 1 != 0
            if isKnown, !(0...freshness).contains(position - spans[index].last) { spans[index].hasGap = true }
            spans[index].first = min(spans[index].first, position)
            spans[index].last = max(spans[index].last, position)
        }
        present |= sample.present
    }

    /// `nil` without values.
    subscript(quantity: Quantity) -> Span? {
        present >> UInt64(quantity.rawValue) & 1 != 0 ? spans[quantity.rawValue] : nil
    }
}

private let freshness = Int64(SourceOrder.freshness * 1e6)

extension CountedItems {
    /// The device behind each quantity, by quantity and time; `nil` without values. Beyond the limit the longest stretches
    /// remain, of equal ones the first.
    var countedSources: [CountedSource]? {
        let all = Quantity.recorded.flatMap { stretches(of: $0) }
        let longest = all.indices.sorted { left, right in
            let lengths = [left, right].map { all[$0].to - all[$0].from }
            return (-lengths[0], left) < (-lengths[1], right)
        }
        let kept = longest.prefix(CountedSource.limit).sorted().map { all[$0] }
        return kept.isEmpty ? nil : kept
    }

    private func stretches(of quantity: Quantity) -> [CountedSource] {
        let name = quantity.words.joined(separator: "_")
        func stretch(_ source: Int, _ first: Int64, _ last: Int64) -> CountedSource {
            CountedSource(
                quantity: name, device: device(source), from: thousandths(Double(first) / 1e6),
                to: thousandths(Double(last) / 1e6))
        }
        let holders = order(for: quantity).compactMap { source in spans[source][quantity].map { (source, $0) } }
        guard let (source, span) = holders.first else { return [] }
        // Without gaps the others count for nothing.
        let isWhole = !span.hasGap && span.first <= freshness && timeline.total - span.last <= freshness
        if holders.count == 1 || isWhole { return [stretch(source, span.first, span.last)] }
        var stretches: [CountedSource] = []
        var open: (source: Int, first: Timestamp, last: Timestamp)?
        func end() {
            guard let open else { return }
            stretches.append(stretch(open.source, timeline.position(open.first), timeline.position(open.last)))
        }
        for reading in readings(quantity) {
            if open?.source != reading.source {
                end()
                open = (reading.source, reading.time, reading.time)
            }
            open?.last = reading.time
        }
        end()
        return stretches
    }
}

extension Quantity {
    /// The words of its name in lower case.
    fileprivate var words: [String] {
        name.reduce(into: [""]) { words, letter in
            if letter.isUppercase { words.append("") }
            words[words.count - 1] += letter.lowercased()
        }
    }
}
