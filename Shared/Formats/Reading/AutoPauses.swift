import Workouts

/// The pauses inside a track or session that no event marks. With an active time they are the longest gaps between
/// points, as many as it leaves out; without one, the gaps before which the device rested and in which it stayed at its
/// place. Any other gap is lost signal.
struct AutoPauses {
    /// A gap that is at most this many times the usual one is no pause.
    private static let usualFactor = 2.0
    /// Without an active time, a shorter gap in seconds is no pause, nor is one between points that are more metres apart:
    /// the device lost its signal. The speed before a gap is that of the last seconds, the span.
    private static let rest = (duration: 30.0, distance: 50.0, span: 5.0)

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
        var later = Self.sorted(segments)[...]
        // The newest end of the segments that begin before a gap.
        var end: Timestamp?
        let gaps = zip(times, times.dropFirst()).map { $0...$1 }.filter { gap in
            while let segment = later.first, segment.lowerBound <= gap.lowerBound {
                end = max(end ?? segment.upperBound, segment.upperBound)
                later.removeFirst()
            }
            return gap.duration > 0 && end.map { gap.upperBound <= $0 } ?? false
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
        let parts = parts.map { part in
            part.compactMap { point in point.time.map { Fix(time: $0, place: point.coordinate) } }
                .sorted { $0.time < $1.time }
        }
        let durations = parts.flatMap { zip($0, $0.dropFirst()).map { $1.time.seconds(since: $0.time) } }
            .filter { $0 > 0 }.sorted()
        let usual = durations.isEmpty ? 0 : durations[durations.count / 2]
        let shortest = max(Self.rest.duration, usual * Self.usualFactor)
        let pauses = parts.flatMap { fixes in
            // The first fix after the previous gap.
            var first = 0
            return fixes.indices.dropLast().compactMap { index -> ClosedRange<Timestamp>? in
                let (from, to) = (fixes[index], fixes[index + 1])
                let duration = to.time.seconds(since: from.time)
                guard duration > shortest else { return nil }
                defer { first = index + 1 }
                guard let before = Self.speed(fixes[first...index]), before < speed,
                    let distance = from.distance(to: to), distance <= min(Self.rest.distance, speed * duration)
                else { return nil }
                return from.time + usual...to.time
            }
        }
        self.pauses = Self.sorted(pauses)
    }

    private struct Fix {
        let time: Timestamp
        let place: Coordinate?

        func distance(to other: Fix) -> Double? {
            guard let place, let other = other.place else { return nil }
            return place.distance(to: other)
        }
    }

    /// The average over the last seconds; `nil` without two fixes that have a place.
    private static func speed(_ fixes: ArraySlice<Fix>) -> Double? {
        guard let last = fixes.last,
            let first = fixes.last(where: { last.time.seconds(since: $0.time) >= rest.span }) ?? fixes.first,
            first.time < last.time
        else { return nil }
        return first.distance(to: last).map { $0 / last.time.seconds(since: first.time) }
    }

    private static func sorted(_ ranges: [ClosedRange<Timestamp>]) -> [ClosedRange<Timestamp>] {
        ranges.sorted { $0.lowerBound < $1.lowerBound }
    }

    /// The segments without the pauses, sorted.
    func removed(from segments: [ClosedRange<Timestamp>]) -> [ClosedRange<Timestamp>] {
        var later = pauses[...]
        return Self.sorted(segments).flatMap { segment in
            later = later.drop { $0.lowerBound < segment.lowerBound }
            var rest: [ClosedRange<Timestamp>] = []
            var start = segment.lowerBound
            for pause in later.prefix(while: { $0.lowerBound <= segment.upperBound })
            where pause.upperBound <= segment.upperBound {
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
