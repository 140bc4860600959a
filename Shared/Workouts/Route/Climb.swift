/// Ascent and descent of one source of altitudes. Altitudes are smoothed over time, then turns below 3 m are ignored.
///
/// Smoothing follows the noise of the altitudes: a barometer needs little, and much of it flattens small hills. Of the
/// parameters that keep small hills and ignore noise, these fit the devices' totals of recordings best; `AscentFitTests`
/// prints them and their errors.
struct Climb: Sendable {
    struct Parameters: Equatable, Sendable {
        /// Seconds of smoothing: at least these, and this many for each metre of noise.
        var smoothing = 5.0
        var smoothingForNoise = 10.0
        /// The smoothed altitude turns when it moves back by this many metres.
        var hysteresis = 3.0
    }

    /// What an altitude adds, in metres.
    struct Change: Equatable, Sendable {
        /// The change of the smoothed altitude.
        var rise = 0.0
        var ascent = 0.0
        var descent = 0.0
    }

    private static let longestSmoothing = 30.0
    /// The number of altitudes that estimate the noise. Only altitudes in quick succession separate noise from hills.
    private static let memory = 60.0
    private static let interval = 2.5
    /// A change of more metres, at more metres per second, is an error of the sensor or another sensor.
    private static let jump = (meters: 50.0, speed: 10.0)

    private let parameters: Parameters
    private var time = Int64.min
    private var newest = 0.0
    /// The last change between two altitudes in quick succession; `nan` without one.
    private var step = Double.nan
    /// The mean square of the noise.
    private var noise = 0.0
    private var smoothed = Double.nan
    /// The smoothed altitude at the last counted change: the highest or lowest since the last turn.
    private var reference = 0.0
    /// 1 while climbing, −1 while descending, 0 before the first change.
    private var direction = 0.0
    private var isNewLine = true

    init(_ parameters: Parameters = Parameters()) {
        self.parameters = parameters
    }

    /// A change of altitude until the next one does not count: it happened during a pause.
    mutating func startLine() { isNewLine = true }

    /// Takes the next altitude, at a time in microseconds.
    mutating func add(_ altitude: Double, at time: Int64) -> Change {
        guard !smoothed.isNaN else {
            (self.time, newest, smoothed, reference) = (time, altitude, altitude, altitude)
            isNewLine = false
            return Change()
        }
        let seconds = Double(time - self.time) / 1e6
        let change = altitude - newest
        (self.time, newest) = (time, altitude)
        if isNewLine || abs(change) > Self.jump.meters + Self.jump.speed * seconds {
            reference += altitude - smoothed
            (smoothed, step, isNewLine) = (altitude, .nan, false)
            return Change()
        }
        observe(change, after: seconds)
        let inertia = max(parameters.smoothing, parameters.smoothingForNoise * noise.squareRoot())
        let rise = (altitude - smoothed) * seconds / (seconds + min(inertia, Self.longestSmoothing))
        smoothed += rise
        let moved = smoothed - reference
        guard moved * direction > 0 || abs(moved) >= parameters.hysteresis else { return Change(rise: rise) }
        direction = moved < 0 ? -1 : 1
        reference = smoothed
        return Change(rise: rise, ascent: max(0, moved), descent: max(0, -moved))
    }

    /// White noise bends the line of altitudes at each of them: the mean square of the bend is six times that of the
    /// noise.
    private mutating func observe(_ change: Double, after seconds: Double) {
        guard seconds <= Self.interval else {
            step = .nan
            return
        }
        let bend = change - step
        if !bend.isNaN { noise += (bend * bend / 6 - noise) / Self.memory }
        step = change
    }
}
