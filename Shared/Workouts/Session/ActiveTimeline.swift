/// The closed segments of a session end to end: maps moments to active time.
struct ActiveTimeline {
    private let segments: [Segment]
    /// Active microseconds before each segment.
    private let offsets: [Int64]
    /// All active microseconds.
    let total: Int64

    init(_ segments: [Segment]) {
        let closed = segments.filter { $0.end != nil }
        var total: Int64 = 0
        self.segments = closed
        offsets = closed.map { segment in
            defer { total += (segment.end ?? segment.start).microseconds - segment.start.microseconds }
            return total
        }
        self.total = total
    }

    /// A moment in a segment.
    struct Place {
        /// The index of its segment.
        let segment: Int
        /// Active microseconds before it.
        let position: Int64
        /// Active microseconds before the end of its segment.
        let segmentEnd: Int64
    }

    /// The place of a moment; `nil` outside all segments. A moment between two adjacent segments belongs to the later.
    func place(_ time: Timestamp) -> Place? {
        guard let index = lastSegment(startingBy: time), let end = segments[index].end, time <= end else { return nil }
        let position = offsets[index] + time.microseconds - segments[index].start.microseconds
        return Place(
            segment: index, position: position, segmentEnd: position + end.microseconds - time.microseconds)
    }

    /// Active microseconds before a moment, in or outside a segment.
    func position(_ time: Timestamp) -> Int64 {
        guard let index = lastSegment(startingBy: time), let end = segments[index].end else { return 0 }
        return offsets[index] + min(time, end).microseconds - segments[index].start.microseconds
    }

    func segmentStart(_ index: Int) -> Timestamp { segments[index].start }

    /// The positions of a segment.
    func positions(_ index: Int) -> Range<Int64> {
        offsets[index]..<(index + 1 < offsets.count ? offsets[index + 1] : total)
    }

    /// The number of closed segments.
    var count: Int { segments.count }

    /// Microseconds since the first segment's start, pauses included, at a position of a segment.
    func elapsed(_ position: Int64, in index: Int) -> Int64 {
        segments[index].start.microseconds - segments[0].start.microseconds + position - offsets[index]
    }

    /// The active time at the end of `elapsed` microseconds since the first segment's start.
    func position(elapsed: Int64) -> Int64 {
        position(Timestamp(microseconds: segments[0].start.microseconds + elapsed))
    }

    private func lastSegment(startingBy time: Timestamp) -> Int? {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].start <= time { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : low - 1
    }
}
