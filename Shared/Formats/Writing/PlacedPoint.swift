import Workouts

/// The measurements at one moment, and its position in the workout.
struct PlacedPoint {
    let point: ExportedPoint
    let position: ActiveTime.Place

    /// Where on earth, as files can hold it: of longitudes 180 is −180, and there are no others than degrees.
    let place: Place?

    init(_ point: ExportedPoint, in active: ActiveTime) {
        self.point = point
        position = active.place(point.time)
        place = point.place.flatMap(Self.normalized)
    }

    /// Decimals that a place is written with: a millimetre, finer than any format's own unit.
    static let placeDecimals = 8

    private static func normalized(_ place: Place) -> Place? {
        guard (-90...90).contains(place.la), (-180...180).contains(place.lo) else { return nil }
        return Place(la: place.la, lo: place.lo > 180 - 1e-8 ? -180 : place.lo)
    }
}

extension [PlacedPoint] {
    /// A value that was measured longer ago tells nothing of now, in seconds.
    private static var timeout: Double { SourceOrder.freshness }

    /// The values of one kind at the places of a workout.
    ///
    /// What was measured between two fixes holds at those after it until the next value, 15 s at most and never over a
    /// pause. What was measured at a fix is that fix's alone, unless most values were measured between them: a recording
    /// whose points hold all there is keeps its values and gets no others.
    func timeWeighted(_ quantity: Quantity) -> [Double?] {
        func value(_ point: ExportedPoint) -> Double? { point[quantity] }
        let measured = filter { value($0.point) != nil }
        let holdsFromFixes = measured.count { $0.place != nil } * 2 < measured.count
        var last: (value: Double, time: Timestamp, segment: Int)?
        return map { placed in
            guard let segment = placed.position.segment else { return nil }
            if let value = value(placed.point) {
                last = placed.place == nil || holdsFromFixes ? (value, placed.point.time, segment) : nil
                return value
            }
            guard let last, last.segment == segment, seconds(from: last.time, to: placed.point.time) <= Self.timeout
            else { return nil }
            return last.value
        }
    }
}
