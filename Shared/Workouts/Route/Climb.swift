/// Ascent and descent of one source. Altitudes are smoothed over time, then turns below 3 m are ignored.
struct Climb: Sendable {
    /// The smoothed altitude turns when it moves back by this many metres.
    private static let hysteresis = 3.0
    /// Seconds of smoothing: two per metre of vertical accuracy, within these limits.
    private static let smoothing = 10.0...30.0

    private var time = Int64.min
    private var smoothed = Double.nan
    /// The smoothed altitude at the last counted change: the highest or lowest since the last turn.
    private var reference = 0.0
    /// 1 while climbing, −1 while descending, 0 before the first change.
    private var direction = 0.0
    private var isNewLine = true

    /// The metres of ascent and descent that a fix adds.
    mutating func add(_ fix: Fix) -> (ascent: Double, descent: Double) {
        if fix.startsLine { isNewLine = true }
        guard !fix.altitude.isNaN else { return (0, 0) }
        if isNewLine {
            // A change of altitude during a pause does not count.
            reference += smoothed.isNaN ? fix.altitude : fix.altitude - smoothed
            smoothed = fix.altitude
            isNewLine = false
        } else {
            let seconds = Double(fix.time - time) / 1e6
            let accuracy = fix.verticalAccuracy.isNaN ? 0 : fix.verticalAccuracy
            let inertia = min(max(2 * accuracy, Self.smoothing.lowerBound), Self.smoothing.upperBound)
            smoothed += (fix.altitude - smoothed) * seconds / (seconds + inertia)
        }
        time = fix.time
        let change = smoothed - reference
        guard change * direction > 0 || abs(change) >= Self.hysteresis else { return (0, 0) }
        direction = change < 0 ? -1 : 1
        reference = smoothed
        return (max(0, change), max(0, -change))
    }
}
