import Workouts

extension FITExport {
    /// Tells the whole second in which FIT places a moment.
    ///
    /// All moments are rounded alike, and so what lies in a segment, or in the session, stays in it. Seconds begin at
    /// the fraction at which the workout began: time since the start is rounded down, and a whole second stays itself.
    /// Where pauses are so many that what rounding does to the segments adds up to a second, they begin at the
    /// fraction at which it adds up to the least.
    struct Clock {
        private static let second: Int64 = 1_000_000

        /// Microseconds by which a moment is moved before it is rounded down; less than a second.
        private let shift: Int64
        private let startedAt: Timestamp
        private let endedAt: Timestamp
        /// The active time, in Unix seconds.
        let segments: [(start: Double, end: Double)]

        var start: Double { self[startedAt] }
        var end: Double { self[endedAt] }

        /// Unix seconds, whole and within one of `time`.
        subscript(time: Timestamp) -> Double { Self.seconds(time, shift) }

        init(_ exported: ExportedWorkout) {
            let (workout, points) = (exported.workout, exported.points)
            let startedAt =
                workout.startedAt ?? workout.segments.first?.start ?? points.first?.time ?? Timestamp(microseconds: 0)
            let endedAt = max(
                startedAt, workout.endedAt ?? workout.segments.last?.end ?? points.last?.time ?? startedAt)
            let segments = workout.segments.map { (start: $0.start, end: max($0.start, $0.end ?? endedAt)) }
            let sinceStart = (Self.second - Self.fraction(startedAt)) % Self.second
            let shift =
                abs(Self.excess(segments, sinceStart)) < 1 ? sinceStart : Self.leastExcess(segments)
            self.startedAt = startedAt
            self.endedAt = endedAt
            self.shift = shift
            self.segments = segments.map { (Self.seconds($0.start, shift), Self.seconds($0.end, shift)) }
        }

        /// Microseconds of a second that a moment is past it.
        private static func fraction(_ time: Timestamp) -> Int64 {
            let rest = time.microseconds % second
            return rest < 0 ? rest + second : rest
        }

        private static func seconds(_ time: Timestamp, _ shift: Int64) -> Double {
            let fraction = fraction(time)
            // Through the fraction, for times at the end of the range cannot be moved.
            let whole = time.microseconds / second - (time.microseconds < 0 && fraction > 0 ? 1 : 0)
            return Double(whole + (fraction + shift >= second ? 1 : 0))
        }

        /// Seconds by which rounding makes the active time longer.
        private static func excess(_ segments: [(start: Timestamp, end: Timestamp)], _ shift: Int64) -> Double {
            segments.reduce(0) { excess, segment in
                excess + seconds(segment.end, shift) - seconds(segment.start, shift)
                    - (segment.end.seconds - segment.start.seconds)
            }
        }

        private static func leastExcess(_ segments: [(start: Timestamp, end: Timestamp)]) -> Int64 {
            // As the shift grows, one bound after the other comes to lie a second later.
            let steps =
                (segments.map { (shift: second - fraction($0.start), change: -1.0) }
                + segments.map { (shift: second - fraction($0.end), change: 1.0) })
                .filter { $0.shift < second }.sorted { $0.shift < $1.shift }
            var excess = excess(segments, 0)
            var least = (shift: Int64(0), excess: excess)
            for (index, step) in steps.enumerated() {
                excess += step.change
                let isLastOfItsShift = index + 1 == steps.count || steps[index + 1].shift > step.shift
                if isLastOfItsShift, abs(excess) < abs(least.excess) { least = (step.shift, excess) }
            }
            return least.shift
        }
    }
}
