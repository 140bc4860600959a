@testable import Workouts

/// Bests of one device by trying all windows: slow, and simple enough to be seen to be right.
struct SlowBests {
    private static let silence: Int64 = 30_000_000

    private let segments: [Segment]

    init(_ segments: [Segment]) {
        self.segments = segments.filter { $0.end != nil }
    }

    private func active(_ time: Int64) -> Int64 { segments.activeMicroseconds(from: .min / 4, to: time) }

    /// The moments at which a number of active microseconds is over, without and with the pause that may follow.
    private func moments(_ active: Int64) -> (before: Int64, after: Int64) {
        let moments = segments.compactMap { segment -> Int64? in
            let since = active - self.active(segment.start.microseconds)
            let length = segment.end!.microseconds - segment.start.microseconds
            return (0...length).contains(since) ? segment.start.microseconds + since : nil
        }
        return (moments.min()!, moments.max()!)
    }

    /// The shortest seconds of a distance.
    ///
    /// - Parameter readings: the metres between one reading and the next.
    func seconds(_ meters: Double, _ readings: [(time: Timestamp, meters: Double)], fastest: Double) -> Double? {
        var points: [(active: Int64, sum: Double)] = [(0, 0)]
        for reading in readings {
            points.append((active(reading.time.microseconds), points.last!.sum + reading.meters))
        }
        func sum(_ moment: Int64) -> Double {
            if let exact = points.last(where: { $0.active == moment }) { return exact.sum }
            guard let next = points.firstIndex(where: { $0.active > moment }) else { return points.last!.sum }
            let (before, after) = (points[next - 1], points[next])
            let share = Double(moment - before.active) / Double(after.active - before.active)
            return before.sum + (after.sum - before.sum) * share
        }
        /// The moments at which a sum is reached and left.
        func reached(_ goal: Double) -> (first: Int64, last: Int64)? {
            guard let index = points.firstIndex(where: { $0.sum >= goal - 1e-7 }) else { return nil }
            let left = points.lastIndex { $0.sum <= goal + 1e-7 } ?? index
            if abs(points[index].sum - goal) < 1e-6 { return (points[index].active, points[left].active) }
            let (before, after) = (points[index - 1], points[index])
            let share = (goal - before.sum) / (after.sum - before.sum)
            let moment = before.active + Int64((Double(after.active - before.active) * share).rounded())
            return (moment, moment)
        }
        let breaks = zip(points, points.dropFirst()).filter { before, after in
            let span = after.active - before.active
            let recent = after.sum - sum(max(0, after.active - 15_000_000))
            return span > Self.silence
                || (after.sum - before.sum > fastest * Double(span) / 1e6 + 1e-6 && recent > 15 * fastest + 1e-6)
        }
        var best: Double?
        for sum in points.map(\.sum) + segments.map({ sum(active($0.start.microseconds)) }) {
            for (first, second) in [(sum, sum + meters), (sum - meters, sum)] {
                // Half a micrometre within the window: a window that ends at a break does not contain it.
                let isBroken = breaks.contains { $0.sum < second - 5e-7 && $1.sum > first + 5e-7 }
                guard !isBroken, first >= -1e-7, let start = reached(first)?.last, let end = reached(second)?.first
                else { continue }
                let seconds = Double(self.moments(end).before - self.moments(start).after) / 1e6
                if seconds > 0, meters / seconds <= fastest, seconds < best ?? .infinity { best = seconds }
            }
        }
        return best
    }

    /// The greatest mean over some seconds.
    ///
    /// - Parameters:
    ///   - hold: seconds for which a value is held.
    ///   - coverage: the known share of the window, at least; `nil` if unknown counts as 0.
    func mean(
        _ seconds: Double, _ readings: [(time: Timestamp, value: Double)], hold: Double, coverage: Double?
    ) -> Double? {
        var best: Double?
        for segment in segments {
            let (start, end) = (segment.start.microseconds, segment.end!.microseconds)
            var values: [(from: Int64, until: Int64, value: Double)] = []
            for (index, reading) in readings.enumerated() where segment.contains(reading.time) {
                let next = index + 1 < readings.count ? readings[index + 1].time.microseconds : .max
                let from = reading.time.microseconds
                values.append((from, min(end, next, from + Int64(hold * 1e6)), reading.value))
            }
            let span = Int64(seconds * 1e6)
            let edges = [start, end - span] + values.flatMap { [$0.from, $0.until, $0.from - span, $0.until - span] }
            for from in edges where from >= start && from + span <= end {
                var (sum, known) = (0.0, Int64(0))
                for value in values {
                    let part = max(0, min(value.until, from + span) - max(value.from, from))
                    sum += value.value * Double(part)
                    known += part
                }
                if let coverage, Double(known) < coverage * Double(span) { continue }
                let mean = sum / Double(coverage == nil ? span : known)
                if mean >= 0.0005, mean > best ?? 0 { best = mean }
            }
        }
        return best
    }
}
