/// The metres of a runner over the seconds of a run's clock: points at least 5 s apart, linear between.
///
/// It begins at 0 s and 0 m and stands at its end. Seconds and metres are kept in thousandths, 8 bytes a point. A curve of
/// more than ``limit`` points doubles its spacing.
package struct RunCurve: Equatable, Sendable {
    /// The points of 24 hours.
    package static let limit = 17_280
    private static let spacing: UInt32 = 5_000
    /// Seconds and metres of a point, at most.
    package static let range = 0.0...4_000_000

    struct Point: Equatable {
        /// Milliseconds.
        var time: UInt32
        /// Millimetres.
        var metres: UInt32
    }

    private(set) var points = [Point(time: 0, metres: 0)]
    private(set) var spacing = RunCurve.spacing
    /// Whether the last point stays, however close it is to the one before.
    private(set) var endsInCorner = true
    /// Metres per second of a pacing partner, whose curve has no end.
    private var speed: Double?

    /// A curve without a distance.
    package init() {}

    /// A pacing partner.
    ///
    /// - Parameter pace: seconds per kilometre.
    package init(pace: Double) { speed = 1_000 / pace }

    init(points: [Point], spacing: UInt32, endsInCorner: Bool) {
        (self.points, self.spacing, self.endsInCorner) = (points, spacing, endsInCorner)
    }

    /// Whether it is a pacing partner's.
    package var isEndless: Bool { speed != nil }

    /// The seconds of its last point.
    package var duration: Double { speed == nil ? Double(points[points.count - 1].time) / 1_000 : .infinity }

    /// The metres of its last point.
    package var distance: Double { speed == nil ? Double(points[points.count - 1].metres) / 1_000 : .infinity }

    /// Adds the newest point. Later points, and earlier ones with more metres, are removed.
    ///
    /// - Parameter isCorner: keeps the point, whose slopes before and after differ: a pause begins or ends.
    package mutating func add(_ seconds: Double, _ metres: Double, isCorner: Bool = false) {
        guard speed == nil, Self.range.contains(seconds), Self.range.contains(metres) else { return }
        let point = Point(
            time: UInt32((seconds * 1_000).rounded()), metres: UInt32((metres * 1_000).rounded()))
        while let last = points.last, last.time >= point.time || last.metres > point.metres {
            points.removeLast()
            endsInCorner = points.count == 1
        }
        let count = points.count
        if count > 1, !endsInCorner, points[count - 1].time - points[count - 2].time < spacing {
            points[count - 1] = point
        } else {
            points.append(point)
        }
        endsInCorner = isCorner || points.count == 1
        if points.count > Self.limit { thin() }
    }

    /// Removes every second point.
    private mutating func thin() {
        let last = points.count - 1
        points = points.indices.filter { $0 % 2 == 0 || $0 == last }.map { points[$0] }
        spacing *= 2
    }

    /// The metres after some seconds of the clock.
    package func metres(at seconds: Double) -> Double {
        guard seconds > 0 else { return Double(speed == nil ? points[0].metres : 0) / 1_000 }
        if let speed { return seconds * speed }
        let time = seconds * 1_000
        let index = index { Double($0.time) >= time }
        guard index < points.count else { return distance }
        guard index > 0 else { return Double(points[0].metres) / 1_000 }
        let (from, to) = (points[index - 1], points[index])
        let share = (time - Double(from.time)) / Double(to.time - from.time)
        return (Double(from.metres) + Double(to.metres - from.metres) * share) / 1_000
    }

    /// The seconds after which the metres are first reached; `nil` if they never are.
    package func seconds(to metres: Double) -> Double? {
        guard metres > 0 else { return 0 }
        if let speed { return metres / speed }
        let wanted = metres * 1_000
        let index = index { Double($0.metres) >= wanted }
        guard index < points.count else { return nil }
        guard index > 0 else { return Double(points[0].time) / 1_000 }
        let (from, to) = (points[index - 1], points[index])
        let share = (wanted - Double(from.metres)) / Double(to.metres - from.metres)
        return (Double(from.time) + Double(to.time - from.time) * share) / 1_000
    }

    /// The seconds after which the goal is reached; `nil` if it never is.
    package func seconds(to goal: RunGoal) -> Double? {
        switch goal {
        case .distance(let metres): seconds(to: metres)
        case .duration(let seconds): duration >= seconds ? seconds : nil
        }
    }

    /// The first point that satisfies a condition, which all later ones do. Most searches end near the end of the curve.
    @inline(__always)
    private func index(where condition: (Point) -> Bool) -> Int {
        points.withUnsafeBufferPointer { points in
            var (low, high) = (0, points.count)
            var step = 1
            while high > 0, low < high - step {
                guard condition(points[high - step]) else {
                    low = high - step + 1
                    break
                }
                high -= step
                step *= 2
            }
            while low < high {
                let middle = (low + high) / 2
                if condition(points[middle]) { high = middle } else { low = middle + 1 }
            }
            return low
        }
    }
}
