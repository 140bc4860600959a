import Workouts

/// The measurements at one moment, and its position in the workout.
struct PlacedPoint {
    let point: ExportedPoint
    let position: ActiveTime.Place

    /// The place in degrees; longitude 180 becomes −180, and an invalid place is `nil`.
    let place: Place?

    init(_ point: ExportedPoint, in active: ActiveTime) {
        self.point = point
        position = active.place(point.time)
        place = point.place.flatMap(Self.normalized)
    }

    /// The decimals of a written place: a millimetre, finer than any format's own unit.
    static let placeDecimals = 8

    private static func normalized(_ place: Place) -> Place? {
        guard (-90...90).contains(place.la), (-180...180).contains(place.lo) else { return nil }
        return Place(la: place.la, lo: place.lo > 180 - 1e-8 ? -180 : place.lo)
    }
}

/// The time-weighted values of a quantity at the places of a workout.
///
/// A value between two fixes counts at later fixes until the next value, for 15 s at most and never over a pause. A
/// value at a fix counts at that fix only, unless most values are between fixes. A recording whose values are all
/// at fixes therefore keeps exactly its values.
struct TimeWeighting {
    /// The seconds after which a value expires.
    private static let timeout = SourceOrder.freshness

    private let quantity: Quantity
    private let holdsFromFixes: Bool
    private var last: (value: Double, time: Timestamp, segment: Int)?

    init(_ quantity: Quantity, _ survey: PointSurvey) {
        self.quantity = quantity
        holdsFromFixes = survey.isMostlyBetweenPlaces(quantity)
    }

    /// The value at a point. All points are passed, in their order.
    mutating func value(at placed: PlacedPoint) -> Double? {
        guard let segment = placed.position.segment else { return nil }
        if let value = placed.point[quantity] {
            last = placed.place == nil || holdsFromFixes ? (value, placed.point.time, segment) : nil
            return value
        }
        guard let last, last.segment == segment, seconds(from: last.time, to: placed.point.time) <= Self.timeout
        else { return nil }
        return last.value
    }
}
