/// Converts moments to microseconds of active time and back.
struct ActiveClock {
    private struct Stretch {
        let start: Int64
        /// `nil` while the stretch is open.
        let end: Int64?
        /// Active time before this stretch.
        let before: Int64
    }

    private let stretches: [Stretch]

    /// - Parameter segments: sorted by time; only the last may be open. Overlapping time, which no session has, counts
    ///   once.
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

    /// Clamps to 1970 through 9999, so that no sum of active time overflows.
    private static func moment(_ time: Timestamp) -> Int64 {
        min(max(time.microseconds, 0), 253_402_300_799_000_000)
    }

    /// Whether the last segment is open.
    var isRunning: Bool { stretches.last.map { $0.end == nil } ?? false }

    /// The active time up to a moment.
    func active(at time: Timestamp) -> Int64 {
        let moment = Self.moment(time)
        // A binary search, because one clock converts many moments.
        var (low, high) = (0, stretches.count)
        while low < high {
            let middle = (low + high) / 2
            if stretches[middle].start <= moment { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return 0 }
        let last = stretches[low - 1]
        return last.before + min(moment, last.end ?? .max) - last.start
    }

    /// The moment at which an active time begins. An active time at a pause begins after the pause. One beyond the end
    /// begins at the end of the last segment. `nil` without segments.
    func start(of active: Int64) -> Timestamp? {
        moment(of: active) { active, end in active < end }
    }

    /// The moment at which an active time ends. An active time at a pause ends before the pause. One beyond the end
    /// ends at the end of the last segment. `nil` without segments.
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
