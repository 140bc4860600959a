import Workouts

/// A pass over the points of a TCX file: those in segments. The start and end of a segment without measurements become
/// points with a time only.
struct TCXTrack {
    private var points: ExportedPoints
    private let active: ActiveTime
    /// The current segment.
    private var segment = -1
    /// The time of the last point in it.
    private var lastTime: Timestamp?
    /// Points that were made ahead, in order.
    private var ahead: ArraySlice<PlacedPoint> = []

    init(_ exported: ExportedWorkout, _ active: ActiveTime) {
        points = exported.points
        self.active = active
    }

    mutating func next() throws -> PlacedPoint? {
        while ahead.isEmpty {
            guard let point = try points.next() else {
                advance(to: active.segments.count)
                return ahead.popFirst()
            }
            let placed = PlacedPoint(point, in: active)
            guard let index = placed.position.segment else { continue }
            if index > segment {
                advance(to: index)
                if !Self.isSameMoment(point.time, active.segments[index].start) { addStart() }
            }
            add(placed)
        }
        return ahead.popFirst()
    }

    /// Ends the current segment, passes those without points and begins another one; at the end of all, none.
    private mutating func advance(to index: Int) {
        while segment < index {
            if segment >= 0 {
                if lastTime == nil { addStart() }
                let end = active.segments[segment].end
                if !Self.isSameMoment(lastTime, end) { addEdge(end) }
            }
            segment += 1
            lastTime = nil
        }
    }

    private mutating func addStart() { addEdge(active.segments[segment].start) }

    /// A bound shared with the next segment belongs to the next one.
    private mutating func addEdge(_ time: Timestamp) {
        let placed = PlacedPoint(ExportedPoint(time: time), in: active)
        if placed.position.segment == segment { add(placed) }
    }

    private mutating func add(_ placed: PlacedPoint) {
        lastTime = placed.point.time
        ahead.append(placed)
    }

    private static func isSameMoment(_ time: Timestamp?, _ bound: Timestamp) -> Bool {
        time?.ticks(of: 1_000) == bound.ticks(of: 1_000)
    }
}
