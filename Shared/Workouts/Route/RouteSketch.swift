/// The lines of a route, simplified as they grow, within a size.
///
/// No position is further from the lines than the tolerance, and no line joins what was not joined. The tolerance begins
/// with 5 m and doubles whenever the lines take too much room; what a tolerance hides of short lines beside others is left
/// out then. The work for each position and the memory are bounded.
struct RouteSketch: Sendable {
    /// Positions that are simplified at once.
    private static let piece = 64
    /// Metres that rounding moves a point at most.
    private static let rounding = 0.8
    /// Part of the tolerance that simplifying takes; the rest is for what the plane makes of the earth.
    private static let share = 0.98
    /// Bytes of quotation marks and a comma for a line, and of the brackets around them all less the last comma.
    private static let lineSize = 3
    private static let arraySize = 1

    /// Bytes of the lines as a JSON array.
    let sizeLimit: Int
    /// Metres.
    private(set) var tolerance = 5.0
    private var lines: [[PolylinePoint]] = []
    private var size = arraySize
    /// The end of the last line and the positions after it, which are not simplified yet.
    private var open: [PolylinePoint] = []

    init(sizeLimit: Int) {
        self.sizeLimit = sizeLimit
    }

    /// Takes the next position of the line, or the first of a new one.
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

    /// One encoded polyline for each line.
    var polyline: [String] { finished.lines.map(\.encoded) }

    /// The lines to their ends, which may be coarser than what goes on growing.
    var finished: RouteSketch {
        var finished = self
        finished.simplify()
        return finished
    }

    private mutating func simplify() {
        guard open.count > 1, let last = open.last else { return fit() }
        // The ends stay where they are, all else may be off by the tolerance less what rounding took.
        let points = open.simplified(tolerance: (tolerance * Self.share - Self.rounding))
        for (previous, point) in zip(points, points.dropFirst()) { size += point.encodedSize(after: previous) }
        lines[lines.count - 1] += points.dropFirst()
        open = [last]
        fit()
    }

    /// Coarsens the lines until they take half of the room.
    private mutating func fit() {
        guard size > sizeLimit else { return }
        while size > sizeLimit / 2 { coarsen() }
    }

    /// Doubles the tolerance: each point moves by as much as the old one once more, by whichever way.
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
