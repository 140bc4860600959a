/// Turns moments into active time and back: microseconds of closed and open segments.
struct ActiveClock {
    private struct Stretch {
        let start: Int64
        /// `nil` of the one that is open.
        let end: Int64?
        /// Active time before it.
        let before: Int64
    }

    private let stretches: [Stretch]

    /// - Parameter segments: in the order of time, only the last open. What overlaps or comes after an open one, as no
    ///   session has it, counts once.
    init(_ segments: [Segment]) {
        var stretches: [Stretch] = []
        var (before, free): (Int64, Int64) = (0, 0)
        for segment in segments {
            let start = max(Self.moment(segment.start), free)
            let end = segment.end.map { max(Self.moment($0), start) }
            stretches.append(Stretch(start: start, end: end, before: before))
            guard let end else { break }
            before += end - start
            free = end
        }
        self.stretches = stretches
    }

    /// From 1970 to the year 9999, so that no sum of active time is too large.
    private static func moment(_ time: Timestamp) -> Int64 {
        min(max(time.microseconds, 0), 253_402_300_799_000_000)
    }

    /// Whether the clock runs now.
    var isRunning: Bool { stretches.last.map { $0.end == nil } ?? false }

    /// The active time up to a moment.
    func active(at time: Timestamp) -> Int64 {
        let moment = Self.moment(time)
        // By binary search: a clock is asked for many moments.
        var (low, high) = (0, stretches.count)
        while low < high {
            let middle = (low + high) / 2
            if stretches[middle].start <= moment { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return 0 }
        let last = stretches[low - 1]
        return last.before + min(moment, last.end ?? .max) - last.start
    }

    /// When an active time began: where it falls into a pause, after it. One that has not come begins where the last
    /// segment ends; `nil` without segments.
    func start(of active: Int64) -> Timestamp? {
        moment(of: active) { active, end in active < end }
    }

    /// When an active time was over: where it falls into a pause, before it. One that has not come is over where the last
    /// segment ends; `nil` without segments.
    func end(of active: Int64) -> Timestamp? {
        moment(of: active) { active, end in active <= end }
    }

    private func moment(of active: Int64, _ isBefore: (Int64, Int64) -> Bool) -> Timestamp? {
        let stretch = stretches.first { stretch in
            stretch.end.map { isBefore(active, stretch.before + $0 - stretch.start) } ?? true
        }
        let moment = stretch.map { $0.start + active - $0.before } ?? stretches.last?.end
        return moment.map { Timestamp(microseconds: $0) }
    }
}
