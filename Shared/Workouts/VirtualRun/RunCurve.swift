/// The metres of a runner over the seconds of a run's clock, linear between points.
///
/// A live curve has points at least 5 s apart; beyond ``limit`` points it doubles this spacing. The curve of a finished
/// session has a point for each item, and beyond the limit one for every second, fourth and so on; its goal stays exact.
///
/// It begins at 0 s and 0 m and stands at its end. A live curve keeps seconds and metres in thousandths, that of a finished
/// session in millionths.
package struct RunCurve: Equatable, Sendable {
    /// The live points of 24 hours.
    package static let limit = 17_280
    /// Microseconds.
    private static let liveSpacing: Int64 = 5_000_000
    /// Seconds and metres of a point, at most.
    package static let range = 0.0...4_000_000

    private(set) var points: Points
    /// Microseconds; 0 keeps every point.
    private(set) var spacing = RunCurve.liveSpacing
    /// Whether the last point stays, however close it is to the one before.
    private(set) var endsInCorner = true
    /// Metres per second of a pacing partner, whose curve has no end.
    private var speed: Double?

    /// A curve without a distance.
    package init() { points = Points(isExact: false) }

    /// A pacing partner.
    ///
    /// - Parameter pace: seconds per kilometre.
    package init(pace: Double) {
        self.init()
        speed = 1_000 / pace
    }

    init(points: Points, spacing: Int64, endsInCorner: Bool) {
        (self.points, self.spacing, self.endsInCorner) = (points, spacing, endsInCorner)
    }

    /// Whether it is a pacing partner's.
    package var isEndless: Bool { speed != nil }

    /// The seconds of its last point.
    package var duration: Double { speed == nil ? Double(points[points.count - 1].time) / 1e6 : .infinity }

    /// The metres of its last point.
    package var distance: Double { speed == nil ? Double(points[points.count - 1].metres) / 1e6 : .infinity }

    /// Adds the newest point. Later points, and earlier ones with more metres, are removed.
    ///
    /// - Parameter isCorner: keeps the point, whose slopes before and after differ: a pause begins or ends.
    package mutating func addPoint(_ seconds: Double, _ metres: Double, isCorner: Bool = false) {
        guard speed == nil, Self.range.contains(seconds), Self.range.contains(metres) else { return }
        let point = points.rounded(
            Point(time: Int64((seconds * 1e6).rounded()), metres: Int64((metres * 1e6).rounded())))
        while let last = points.last, last.time >= point.time || last.metres > point.metres {
            points.removeLast()
            endsInCorner = points.count == 1
        }
        let count = points.count
        if count > 1, !endsInCorner, points[count - 1].time - points[count - 2].time < spacing {
            points.removeLast()
        }
        points.append(point)
        endsInCorner = isCorner || points.count == 1
        if spacing > 0, points.count > Self.limit { thin() }
    }

    /// Keeps at most ``limit`` points, and one where the goal is reached.
    mutating func thin(keeping goal: RunGoal?) {
        guard points.count > Self.limit else { return }
        let reached = goal.flatMap { seconds(to: $0) }
        let metres = reached.map { self.metres(at: $0) }
        while points.count > Self.limit { thin() }
        guard let reached, let metres else { return }
        let point = Point(time: Int64((reached * 1e6).rounded()), metres: Int64((metres * 1e6).rounded(.up)))
        let index = self.index { $0.time >= point.time }
        guard index == points.count || points[index].time > point.time else { return }
        points = Points(points.all[..<index] + [point] + points.all[index...], isExact: true)
    }

    /// Removes every second point.
    private mutating func thin() {
        let last = points.count - 1
        points = Points((0...last).filter { $0 % 2 == 0 || $0 == last }.map { points[$0] }, isExact: points.isExact)
        spacing *= 2
    }

    /// The metres after some seconds of the clock.
    package func metres(at seconds: Double) -> Double {
        guard seconds > 0 else { return Double(speed == nil ? points[0].metres : 0) / 1e6 }
        if let speed { return seconds * speed }
        let time = seconds * 1e6
        let index = index { Double($0.time) >= time }
        guard index < points.count else { return distance }
        guard index > 0 else { return Double(points[0].metres) / 1e6 }
        let (from, to) = (points[index - 1], points[index])
        let share = (time - Double(from.time)) / Double(to.time - from.time)
        return (Double(from.metres) + Double(to.metres - from.metres) * share) / 1e6
    }

    /// The seconds after which the metres are first reached; `nil` if they never are.
    package func seconds(to metres: Double) -> Double? {
        guard metres > 0 else { return 0 }
        if let speed { return metres / speed }
        let wanted = metres * 1e6
        let index = index { Double($0.metres) >= wanted }
        guard index < points.count else { return nil }
        guard index > 0 else { return Double(points[0].time) / 1e6 }
        let (from, to) = (points[index - 1], points[index])
        let share = (wanted - Double(from.metres)) / Double(to.metres - from.metres)
        return (Double(from.time) + Double(to.time - from.time) * share) / 1e6
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
