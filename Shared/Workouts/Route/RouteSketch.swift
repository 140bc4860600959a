/// The lines of a route, simplified as they grow to stay within a size.
///
/// No position is further from the lines than the tolerance, and no line joins separate lines. The tolerance starts at
/// 5 m and doubles whenever the lines exceed the size; short lines within the tolerance of others are then removed.
/// Work per position and memory are bounded.
struct RouteSketch: Sendable {
    /// The number of positions that are simplified at once.
    private static let piece = 64
    /// The maximum distance in metres that rounding moves a point.
    private static let rounding = 0.8
    /// The fraction of the tolerance that simplification uses; the rest covers the error of the plane.
    private static let share = 0.98
    /// Bytes of the quotation marks and comma of a line. The brackets of the array take the place of the last comma and
    /// one more byte.
    private static let lineSize = 3
    private static let arraySize = 1

    /// The maximum size in bytes of the lines as a JSON array.
    let sizeLimit: Int
    /// Metres.
    private(set) var tolerance = 5.0
    private var lines: [[PolylinePoint]] = []
    private var size = arraySize
    /// The end of the last line and the positions after it, not simplified yet.
    private var open: [PolylinePoint] = []

    init(sizeLimit: Int) {
        self.sizeLimit = sizeLimit
    }

    /// Adds the next position of the line, or the first of a new one.
    mutating func add(_ coordinate: Coordinate, startsLine: Bool) {
        if startsLine || open.isEmpty {
            simplify()
            let point = PolylinePoint(coordinate)
            lines.append([point])
            open = [point]
            size += Self.lineSize + point.encodedSize(after: nil)
        } else {
            open.append(PolylinePoint(coordinate, after: open[open.count - 1]))
            if open.count > Self.piece { simplify() }
        }
    }

    /// One encoded polyline per line.
    var polyline: [String] { finished.lines.map(\.encoded) }

    /// The lines including their ends. It may be coarser than the sketch that continues to grow.
    var finished: RouteSketch {
        var finished = self
        finished.simplify()
        return finished
    }

    private mutating func simplify() {
        guard open.count > 1, let last = open.last else { return fit() }
        // The ends stay in place; other points may move by the tolerance less the rounding.
        let points = open.simplified(tolerance: (tolerance * Self.share - Self.rounding))
        for (previous, point) in zip(points, points.dropFirst()) { size += point.encodedSize(after: previous) }
        lines[lines.count - 1] += points.dropFirst()
        open = [last]
        fit()
    }

    /// Coarsens the lines until they take at most half of the size.
    private mutating func fit() {
        guard size > sizeLimit else { return }
        while size > sizeLimit / 2 { coarsen() }
    }

    /// Doubles the tolerance. Each point may move by the old tolerance again, in any direction.
    private mutating func coarsen() {
        let more = tolerance * Self.share
        var kept: [[PolylinePoint]] = []
        size = Self.arraySize
        for (index, line) in lines.enumerated() {
            let isOpen = index == lines.count - 1
            let center = line[0]
            func isHidden(by point: PolylinePoint) -> Bool {
                line.allSatisfy {
                    $0.squaredDistance(from: point, to: point, shrinkage: $0.shrinkage) <= more * more
                }
            }
            var points = line
            if !isOpen, isHidden(by: center) {
                let isCovered = kept.contains { other in other.contains { isHidden(by: $0) } }
                if isCovered { continue }
                points = [center]
            } else {
                points = line.simplified(tolerance: more)
            }
            kept.append(points)
            size += Self.lineSize
            var previous: PolylinePoint?
            for point in points {
                size += point.encodedSize(after: previous)
                previous = point
            }
        }
        lines = kept
        tolerance *= 2
    }
}
