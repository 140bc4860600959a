/// A span of active time, both ends included. An open segment has no end.
package struct Segment: Hashable, Sendable {
    package var start: Timestamp
    package var end: Timestamp?

    package init(start: Timestamp, end: Timestamp?) {
        self.start = start
        self.end = end
    }

    package func contains(_ time: Timestamp) -> Bool {
        guard let end else { return time >= start }
        return start <= time && time <= end
    }
}

extension Segment: Codable {
    package init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        start = try container.decode(Timestamp.self)
        end = try container.decodeIfPresent(Timestamp.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(start)
        try container.encode(end)
    }
}

extension [Segment] {
    /// Seconds of active time up to `time`, the open segment included.
    package func activeDuration(at time: Timestamp? = nil) -> Double {
        let microseconds = reduce(into: Int64(0)) { total, segment in
            guard let end = segment.end ?? time else { return }
            let limit = Swift.min(end, time ?? end)
            total += Swift.max(0, limit.microseconds - segment.start.microseconds)
        }
        return Double(microseconds) / 1e6
    }

    /// Active microseconds between two moments; an open segment continues.
    func activeMicroseconds(from start: Int64, to end: Int64) -> Int64 {
        reduce(0) { total, segment in
            let from = Swift.max(start, segment.start.microseconds)
            let to = Swift.min(end, segment.end?.microseconds ?? end)
            return total + Swift.max(0, to - from)
        }
    }

    /// Finds the segment of a moment by binary search. The segments must be sorted by time.
    ///
    /// A moment between two adjacent segments belongs to the later.
    package func segment(containing time: Timestamp) -> Segment? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].start <= time { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        if self[low - 1].contains(time) { return self[low - 1] }
        return nil
    }
}

extension ItemSource {
    /// The number of items in no segment. Empty items have no time and do not count.
    package func count(outside segments: [Segment]) -> Int {
        var count = 0
        var last: Segment?
        visit { item in
            guard let time = item.time, last?.contains(time) != true else { return }
            last = segments.segment(containing: time)
            if last == nil { count += 1 }
        }
        return count
    }
}
