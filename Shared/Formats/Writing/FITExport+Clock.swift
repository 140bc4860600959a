import Workouts

extension FITExport {
    /// Rounds moments to FIT's whole seconds.
    ///
    /// All moments are rounded alike, so a moment in a segment or in the session stays in it. Seconds begin at the
    /// fraction of the workout's start: time since the start is rounded down, and whole seconds are unchanged. If many
    /// pauses let the rounding errors of the segments add up to a second, seconds begin at the fraction with the
    /// smallest sum of errors.
    struct Clock {
        private static let second: Int64 = 1_000_000

        /// Microseconds that are added to a moment before it is rounded down; less than a second.
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
            let (workout, survey) = (exported.workout, exported.survey)
            let startedAt =
                workout.startedAt ?? workout.segments.first?.start ?? survey.first ?? Timestamp(microseconds: 0)
            let endedAt = max(
                startedAt, workout.endedAt ?? workout.segments.last?.end ?? survey.last ?? startedAt)
            let segments = workout.segments.map { (start: $0.start, end: max($0.start, $0.end ?? endedAt)) }
            let sinceStart = (Self.second - Self.fraction(startedAt)) % Self.second
            let shift =
                abs(Self.excess(segments, sinceStart)) < 1 ? sinceStart : Self.leastExcess(segments)
            self.startedAt = startedAt
            self.endedAt = endedAt
            self.shift = shift
            self.segments = segments.map { (Self.seconds($0.start, shift), Self.seconds($0.end, shift)) }
        }

        /// Microseconds since the last whole second.
        private static func fraction(_ time: Timestamp) -> Int64 {
            let rest = time.microseconds % second
            return rest < 0 ? rest + second : rest
        }

        private static func seconds(_ time: Timestamp, _ shift: Int64) -> Double {
            let fraction = fraction(time)
            // Adding the shift would overflow at the end of the range.
            let whole = time.microseconds / second - (time.microseconds < 0 && fraction > 0 ? 1 : 0)
            return Double(whole + (fraction + shift >= second ? 1 : 0))
        }

        /// The seconds that rounding adds to the active time.
        private static func excess(_ segments: [(start: Timestamp, end: Timestamp)], _ shift: Int64) -> Double {
            segments.reduce(0) { excess, segment in
                excess + seconds(segment.end, shift) - seconds(segment.start, shift)
                    - (segment.end.seconds - segment.start.seconds)
            }
        }

        private static func leastExcess(_ segments: [(start: Timestamp, end: Timestamp)]) -> Int64 {
            // As the shift grows, one bound after the other moves to the next second.
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
