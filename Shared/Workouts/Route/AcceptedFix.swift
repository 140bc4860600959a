/// An accepted fix, and its share of the totals of its source.
struct AcceptedFix: Sendable {
    var fix: Fix
    /// m/s: the measured speed, else the speed of the last seconds; `nan` if unknown.
    var speed: Double
    /// Metres along the filtered track since the previous fix; 0 at the start of a line.
    var distance: Double
    /// Metres.
    var ascent: Double
    var descent: Double
}

/// Sums over fixes.
struct RouteTotals: Equatable, Sendable {
    /// Metres.
    var distance = 0.0
    var ascent = 0.0
    var descent = 0.0

    mutating func addCountedFix(_ fix: CountedFix) {
        distance += fix.distance
        ascent += fix.ascent
        descent += fix.descent
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
