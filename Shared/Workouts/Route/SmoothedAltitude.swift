/// The smoothed altitude that gives the grade for an energy estimate. It follows noise the less, the more there is.
struct SmoothedAltitude: Sendable {
    /// Seconds of smoothing: at least these, and this many for each metre of noise.
    private static let smoothing = (least: 5.0, forNoise: 10.0, longest: 30.0)

    private var noise = AltitudeNoise()
    private var time = Int64.min
    private var newest = 0.0
    private var smoothed = Double.nan
    private var isNewLine = true

    /// A change of altitude until the next one does not count: it happened during a pause.
    mutating func startLine() { isNewLine = true }

    /// Takes the next altitude, at a time in microseconds. Returns the metres that the smoothed altitude rises.
    mutating func add(_ altitude: Double, at time: Int64) -> Double {
        let seconds = self.time == .min ? 0 : Double(time - self.time) / 1e6
        let change = altitude - newest
        (self.time, newest) = (time, altitude)
        if smoothed.isNaN || isNewLine || AltitudeNoise.isJump(change, after: seconds) {
            (smoothed, isNewLine) = (altitude, false)
            noise.interrupt()
            return 0
        }
        noise.observe(change, after: seconds)
        let inertia = max(Self.smoothing.least, Self.smoothing.forNoise * noise.meters)
        let rise = (altitude - smoothed) * seconds / (seconds + min(inertia, Self.smoothing.longest))
        smoothed += rise
        return rise
    }
}

/// The white noise of altitudes.
///
/// It bends the line of altitudes at each of them: the mean square of the bend is six times that of the noise.
struct AltitudeNoise: Sendable {
    /// The number of altitudes that estimate the noise. Only altitudes in quick succession separate noise from hills.
    private static let memory = 60.0
    private static let interval = 2.5
    private static let jump = (meters: 50.0, speed: 10.0)

    /// A change of more metres, at more metres per second, is an error of the sensor or another sensor.
    static func isJump(_ change: Double, after seconds: Double) -> Bool {
        abs(change) > jump.meters + jump.speed * seconds
    }

    /// The last change between two altitudes in quick succession; `nan` without one.
    private var step = Double.nan
    private var square = 0.0

    /// The standard deviation.
    var meters: Double { square.squareRoot() }

    mutating func interrupt() { step = .nan }

    mutating func observe(_ change: Double, after seconds: Double) {
        guard seconds <= Self.interval else { return interrupt() }
        let bend = change - step
        if !bend.isNaN { square += (bend * bend / 6 - square) / Self.memory }
        step = change
    }
}
