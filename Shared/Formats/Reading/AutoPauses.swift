import Workouts

/// The pauses inside a track or session that no event marks. With an active time they are the longest gaps between
/// points, as many as it leaves out; without one, the gaps in which the device stayed at its place.
struct AutoPauses {
    /// A gap that is at most this many times the usual one is no pause.
    private static let usualFactor = 2.0
    /// Without an active time, a shorter gap in seconds is no pause, nor is one between points that are more metres apart:
    /// the device lost its signal.
    private static let rest = (duration: 30.0, distance: 50.0)

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

    /// - Parameter parts: of a track without an active time, each with the points of one segment.
    init(resting parts: [[RecordedTrack.Point]], _ activity: Activity) {
        guard let speed = activity.restSpeed else {
            pauses = []
            return
        }
        let gaps = parts.flatMap { part in
            let points = part.compactMap { point in point.time.map { (time: $0, place: point.coordinate) } }
                .sorted { $0.time < $1.time }
            return zip(points, points.dropFirst()).map { (time: $0.time...$1.time, places: ($0.place, $1.place)) }
        }
        let durations = gaps.map(\.time.duration).filter { $0 > 0 }.sorted()
        let usual = durations.isEmpty ? 0 : durations[durations.count / 2]
        let shortest = max(Self.rest.duration, usual * Self.usualFactor)
        pauses = gaps.filter { gap in
            guard gap.time.duration > shortest, let from = gap.places.0, let to = gap.places.1 else { return false }
            return from.distance(to: to) <= min(Self.rest.distance, speed * gap.time.duration)
        }.map { $0.time.lowerBound + usual...$0.time.upperBound }.sorted { $0.lowerBound < $1.lowerBound }
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
