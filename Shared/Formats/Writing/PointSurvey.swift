import Workouts

/// What the formats write about all points before the points themselves, collected in one pass.
struct PointSurvey {
    /// Whether a device measured the distance, which then replaces that of the track.
    private(set) var isDistanceMeasured = false
    private(set) var first: Timestamp?
    private(set) var last: Timestamp?
    /// A bit for each quantity with a value, by raw value.
    private(set) var present: UInt64 = 0
    private(set) var hasAltitude = false
    private(set) var hasAccuracy = false
    /// The first point whose place FIT can represent.
    private(set) var firstOnEarth: ExportedPoint?
    /// The decimals of the finest time: 0, 3 or 6.
    private(set) var timeDecimals = 0
    /// The corners of the places in segments.
    private(set) var bounds: (southWest: Place, northEast: Place)?
    /// The highest speed within the segments, by lap.
    private(set) var maximumSpeeds: [Int: Double] = [:]
    /// How many points have a value of a quantity, by raw value.
    private var measured = [Int](repeating: 0, count: Quantity.allCases.count)
    /// How many of them have a place.
    private var located = [Int](repeating: 0, count: Quantity.allCases.count)

    init(_ workout: WorkoutRecord, _ series: ChunkedRows<Series>, _ track: ChunkedRows<Track>) throws {
        for number in 0..<series.count where !isDistanceMeasured {
            isDistanceMeasured = try series.read(number).columns.contains { $0.quantity == .distance }
        }
        let active = ActiveTime(workout)
        var points = ExportedPoints(series, track, isDistanceMeasured: isDistanceMeasured)
        while let point = try points.next() { addPoint(PlacedPoint(point, in: active)) }
    }

    func has(_ quantity: Quantity) -> Bool { measured[quantity.rawValue] > 0 }

    /// Whether most values of a quantity are at points without a place.
    func isMostlyBetweenPlaces(_ quantity: Quantity) -> Bool {
        located[quantity.rawValue] * 2 < measured[quantity.rawValue]
    }

    private mutating func addPoint(_ placed: PlacedPoint) {
        let point = placed.point
        first = first ?? point.time
        last = point.time
        hasAltitude = hasAltitude || point.altitude != nil
        hasAccuracy = hasAccuracy || point.horizontalAccuracy != nil
        if firstOnEarth == nil, point.latitude != nil { firstOnEarth = point }
        if timeDecimals < 6, point.time.microseconds % 1_000_000 != 0 {
            timeDecimals = point.time.microseconds % 1_000 != 0 ? 6 : 3
        }
        present |= point.values.present
        for quantity in point.values.quantities {
            measured[quantity.rawValue] += 1
            if placed.place != nil { located[quantity.rawValue] += 1 }
        }
        guard placed.position.segment != nil else { return }
        if let place = placed.place { addPlace(place) }
        if let speed = point[.speed] {
            let lap = placed.position.lap
            maximumSpeeds[lap] = max(maximumSpeeds[lap] ?? speed, speed)
        }
    }

    private mutating func addPlace(_ place: Place) {
        guard let (southWest, northEast) = bounds else {
            bounds = (place, place)
            return
        }
        bounds = (
            Place(la: min(southWest.la, place.la), lo: min(southWest.lo, place.lo)),
            Place(la: max(northEast.la, place.la), lo: max(northEast.lo, place.lo))
        )
    }
}
