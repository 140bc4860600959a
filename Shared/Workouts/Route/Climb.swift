/// Ascent and descent of one source: altitudes are smoothed over some seconds, and then a turn of less than 3 m is none.
struct Climb: Sendable {
    /// Metres by which the smoothed altitude has to turn back.
    private static let hysteresis = 3.0
    /// Seconds of smoothing: two for each metre of vertical accuracy.
    private static let smoothing = 10.0...30.0

    private var time = Int64.min
    private var smoothed = Double.nan
    /// The smoothed altitude up to which everything was counted: the highest or lowest since the last turn.
    private var reference = 0.0
    /// 1 while it goes up, −1 while it goes down, 0 before either.
    private var direction = 0.0
    private var isNewLine = true

    /// Metres that a fix adds to ascent and descent.
    mutating func add(_ fix: Fix) -> (ascent: Double, descent: Double) {
        if fix.startsLine { isNewLine = true }
        guard !fix.altitude.isNaN else { return (0, 0) }
        if isNewLine {
            // What changed during a pause was not climbed.
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
