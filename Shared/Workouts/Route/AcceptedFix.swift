/// A fix that was accepted, and what it adds to the totals of its source.
struct AcceptedFix: Sendable {
    var fix: Fix
    /// m/s: as measured, else that of the last seconds; `nan` when that is not known.
    var speed: Double
    /// Metres along the filtered track since the fix before; none where a line starts.
    var distance: Double
    /// Metres.
    var ascent: Double
    var descent: Double

    var coordinate: Coordinate { Coordinate(latitude: fix.latitude, longitude: fix.longitude) }
}

/// What fixes add up to.
struct RouteTotals: Equatable, Sendable {
    /// Metres.
    var distance = 0.0
    var ascent = 0.0
    var descent = 0.0

    mutating func add(_ accepted: AcceptedFix) {
        distance += accepted.distance
        ascent += accepted.ascent
        descent += accepted.descent
    }

    static func + (left: RouteTotals, right: RouteTotals) -> RouteTotals {
        RouteTotals(
            distance: left.distance + right.distance, ascent: left.ascent + right.ascent,
            descent: left.descent + right.descent)
    }

    static func - (left: RouteTotals, right: RouteTotals) -> RouteTotals {
        RouteTotals(
            distance: left.distance - right.distance, ascent: left.ascent - right.ascent,
            descent: left.descent - right.descent)
    }
}
