import Workouts

/// The pauses that a file shows by its active time alone: the longest gaps between points, as many as the active time
/// leaves out.
struct AutoPauses {
    /// A gap that is at most this many times the usual one is no pause.
    private static let usualFactor = 2.0

    /// Seconds between the segments and the active time that rounding explains.
    static func tolerance(_ activeTime: Double) -> Double { max(2, activeTime / 200) }

    /// Sorted.
    private let pauses: [ClosedRange<Timestamp>]

    /// - Parameter times: of the points, in any order.
    init(_ times: [Timestamp], in segments: [ClosedRange<Timestamp>], activeTime: Double) {
        var missing = segments.duration - activeTime
        guard missing > Self.tolerance(activeTime) else {
            pauses = []
            return
        }
        let times = times.sorted()
        let gaps = zip(times, times.dropFirst()).map { $0...$1 }.filter { gap in
            gap.duration > 0 && segments.contains { $0.contains(gap.lowerBound) && $0.contains(gap.upperBound) }
        }.sorted { $0.duration > $1.duration }
        let usual = gaps.isEmpty ? 0 : gaps[gaps.count / 2].duration
        let long = gaps.filter { $0.duration > usual * Self.usualFactor }
        // After its last point the clock runs on for the usual time, if all gaps together leave room for it.
        let spare = long.reduce(0) { $0 + $1.duration } - missing
        let tail = min(usual, max(0, spare / Double(max(1, long.count))))
        var pauses: [ClosedRange<Timestamp>] = []
        for gap in long where missing > 0 {
            let pause = min(gap.duration - tail, missing)
            missing -= pause
            pauses.append(gap.upperBound + -pause...gap.upperBound)
        }
        self.pauses = pauses.sorted { $0.lowerBound < $1.lowerBound }
    }

    /// The segments without the pauses.
    func removed(from segments: [ClosedRange<Timestamp>]) -> [ClosedRange<Timestamp>] {
        segments.flatMap { segment in
            var rest: [ClosedRange<Timestamp>] = []
            var start = segment.lowerBound
            for pause in pauses where segment.lowerBound <= pause.lowerBound && pause.upperBound <= segment.upperBound {
                rest.append(start...max(start, pause.lowerBound))
                start = pause.upperBound
            }
            return rest + [start...segment.upperBound]
        }
    }
}

extension ClosedRange<Timestamp> {
    /// Seconds.
    var duration: Double { upperBound.seconds(since: lowerBound) }
}

extension [ClosedRange<Timestamp>] {
    /// The sum in seconds.
    var duration: Double { reduce(0) { $0 + $1.duration } }
}
