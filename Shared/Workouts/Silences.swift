/// The stretches of time without items: before the first item, after the newest, and each inner one longer than 6 hours.
///
/// Empty without items. In JSON `[[null,first],[from,to],…,[newest,null]]`.
package struct Silences: Equatable, Sendable {
    /// One silence, between the items at `from` and at `to`. The first has no start, the last no end.
    package struct Gap: Equatable, Sendable {
        package var from: Timestamp?
        package var to: Timestamp?

        package init(from: Timestamp?, to: Timestamp?) {
            self.from = from
            self.to = to
        }
    }

    /// An inner silence is longer than this, in seconds.
    package static let minimum = 6 * 3_600.0
    /// An inner silence counts if it ends at most this many seconds before the newest item. So there are at most 1,000, and
    /// they depend on the items alone, not on the order in which they arrive.
    package static let span = 1_000 * minimum

    /// The gaps in the order of time.
    package var gaps: [Gap]

    package init(_ gaps: [Gap] = []) {
        self.gaps = gaps
    }

    /// The silences that both lists share. An empty list is of no items, so that the other one remains.
    package func intersection(_ other: Silences) -> Silences {
        if gaps.isEmpty { return other }
        if other.gaps.isEmpty { return self }
        var shared: [Gap] = []
        var (left, right) = (gaps[...], other.gaps[...])
        while let first = left.first, let second = right.first {
            let gap = Gap(
                from: [first.from, second.from].compactMap(\.self).max(),
                to: [first.to, second.to].compactMap(\.self).min())
            if gap.isSilence { shared.append(gap) }
            // The gap that ends first overlaps no later one.
            if first.to.map({ to in second.to.map { to < $0 } ?? true }) ?? false {
                left = left.dropFirst()
            } else {
                right = right.dropFirst()
            }
        }
        return Silences(shared)
    }
}

extension Silences {
    /// Without the inner silences that are too old to count.
    var bounded: Silences {
        guard let newest = gaps.last?.from else { return self }
        return Silences(
            gaps.filter { gap in
                guard gap.from != nil, let to = gap.to else { return true }
                return newest.seconds(since: to) <= Self.span
            })
    }
}

extension Silences.Gap: Codable {
    /// Whether it is long enough to count.
    fileprivate var isSilence: Bool {
        guard let from, let to else { return true }
        return to.seconds(since: from) > Silences.minimum
    }

    package init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        from = try container.decodeIfPresent(Timestamp.self)
        to = try container.decodeIfPresent(Timestamp.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(from)
        try container.encode(to)
    }
}

extension Silences: Codable {
    package init(from decoder: any Decoder) throws {
        gaps = try decoder.singleValueContainer().decode([Gap].self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(gaps)
    }
}

/// The times of a session's items, reduced to their silences: the same for every order of the items.
package struct ItemTimes: Sendable {
    /// Items without a silence between them, as their first and last time, in the order of time. Those before the first
    /// silence that counts are left out.
    private var runs: [ClosedRange<Timestamp>] = []
    private var oldest: Timestamp?
    package private(set) var newest: Timestamp?

    package init() {}

    /// The times of all items of a session.
    package init<Item: StreamItem>(_ streams: some Sequence<ItemSource<Item>>) {
        for stream in streams {
            stream.visit { item in
                if let time = item.time { add(time) }
            }
        }
    }

    /// The silences between the times.
    package var silences: Silences {
        guard let oldest, let newest else { return Silences() }
        let inner = zip(runs, runs.dropFirst()).map { Silences.Gap(from: $0.upperBound, to: $1.lowerBound) }
        return Silences([Silences.Gap(from: nil, to: oldest)] + inner + [Silences.Gap(from: newest, to: nil)])
    }

    package mutating func add(_ time: Timestamp) {
        oldest = min(oldest ?? time, time)
        newest = max(newest ?? time, time)
        if let last = runs.last, last.isNear(time), last.lowerBound <= time {
            runs[runs.count - 1] = last.extended(to: time)
        } else {
            insert(time)
        }
        while runs.count > 1, let newest, newest.seconds(since: runs[1].lowerBound) > Silences.span {
            runs.removeFirst()
        }
    }

    private mutating func insert(_ time: Timestamp) {
        // Runs from this one on begin after the time.
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].lowerBound <= time { low = middle + 1 } else { high = middle }
        }
        let later = runs[low...].first.flatMap { $0.isNear(time) ? $0.extended(to: time) : nil }
        if low > 0, runs[low - 1].isNear(time) {
            runs[low - 1] = runs[low - 1].extended(to: later?.upperBound ?? time)
            if later != nil { runs.remove(at: low) }
        } else if let later {
            runs[low] = later
        } else {
            runs.insert(time...time, at: low)
        }
    }
}

extension ClosedRange<Timestamp> {
    /// Whether no silence separates a time from the run.
    fileprivate func isNear(_ time: Timestamp) -> Bool {
        time.seconds(since: upperBound) <= Silences.minimum && lowerBound.seconds(since: time) <= Silences.minimum
    }

    fileprivate func extended(to time: Timestamp) -> ClosedRange {
        Swift.min(lowerBound, time)...Swift.max(upperBound, time)
    }
}
