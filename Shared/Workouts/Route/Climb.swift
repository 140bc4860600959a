/// Ascent and descent of one source of altitudes.
///
/// The altitude of each second, interpolated, becomes the mean of a window around it. Then each leg between a highest and
/// a lowest mean counts in full, and turns below a threshold count nothing. Window and threshold follow the error of the
/// altitudes: without a stated accuracy and with little noise they are those of a barometer.
///
/// Positions are microseconds that stand still during pauses, or continue: only those inside of a line are compared.
package struct Climb: Sendable {
    /// What the smoothed altitude up to a position adds, in metres.
    package struct Change: Equatable, Sendable {
        package let position: Int64
        package let ascent: Double
        package let descent: Double
    }

    /// Seconds before and after the middle of a window.
    private static let halfWindow = (barometer: 5, gps: 15)
    /// Metres that the smoothed altitude moves back at a turn; with GPS, a multiple of the altitudes' error.
    private static let turn = (barometer: 3.0, forError: 2.0, largest: 10.0)
    /// White noise of as many metres is that of GPS.
    private static let gpsNoise = 1.0
    private static let second: Int64 = 1_000_000
    /// After as long without an altitude a new window begins.
    private static let gap = 30 * second

    private var noise = AltitudeNoise()
    private var accuracy = MedianAccuracy()
    private var newest = (position: Int64.min, altitude: 0.0)
    private var isNewLine = true
    /// The altitudes of consecutive seconds, the position of the first, and the index of the first that is not counted.
    private var altitudes: [Double] = []
    private var start: Int64 = 0
    private var next = 0
    /// The last mean; `nan` before the first. Whether the change to the next one is no climb.
    private var mean = Double.nan
    private var isBroken = false
    /// 1 while climbing, −1 while descending, 0 before the first leg.
    private var direction = 0.0
    /// The lowest and the highest mean before the first leg; afterwards both are the last one that counted.
    private var low = 0.0
    private var high = 0.0

    package init() {}

    /// A change of altitude until the next one does not count: it happened during a pause.
    package mutating func startLine() { isNewLine = true }

    /// Takes the next altitude. Counts up to some seconds before it.
    ///
    /// - Parameter accuracy: the vertical accuracy in metres; `nan` or negative if unknown.
    package mutating func add(
        _ altitude: Double, at position: Int64, accuracy: Double = .nan, counting count: (Change) -> Void
    ) {
        guard isNewLine || position > newest.position else { return }
        self.accuracy.add(accuracy)
        let last = newest
        if altitudes.isEmpty {
            begin(altitude, position)
        } else {
            let seconds = Double(position - last.position) / 1e6
            let change = altitude - last.altitude
            let isBreak = isNewLine || AltitudeNoise.isJump(change, after: seconds)
            if isBreak {
                noise.interrupt()
            } else {
                noise.observe(change, after: seconds)
            }
            if isBreak || position - last.position > Self.gap {
                finish(counting: count)
                isBroken = isBreak
                begin(altitude, position)
            } else {
                newest = (position, altitude)
                var at = start + Int64(altitudes.count) * Self.second
                while at <= position {
                    altitudes.append(last.altitude + change * (Double(at - last.position) / 1e6 / seconds))
                    at += Self.second
                }
            }
        }
        while next + halfWindow < altitudes.count { take(next, counting: count) }
        if next > 2 * Self.halfWindow.gps {
            let passed = next - Self.halfWindow.gps
            altitudes.removeFirst(passed)
            start += Int64(passed) * Self.second
            next -= passed
        }
    }

    /// Counts the rest up to the newest altitude.
    package mutating func finish(counting count: (Change) -> Void) {
        guard !altitudes.isEmpty else { return }
        if start + Int64(altitudes.count - 1) * Self.second < newest.position { altitudes.append(newest.altitude) }
        while next < altitudes.count { take(next, counting: count) }
        altitudes.removeAll(keepingCapacity: true)
    }

    private mutating func begin(_ altitude: Double, _ position: Int64) {
        newest = (position, altitude)
        isNewLine = false
        altitudes.append(altitude)
        (start, next) = (position, 0)
    }

    /// The error of the altitudes if they are those of GPS.
    private var error: Double? { accuracy.median ?? (noise.meters >= Self.gpsNoise ? noise.meters : nil) }

    private var halfWindow: Int { error == nil ? Self.halfWindow.barometer : Self.halfWindow.gps }

    private mutating func take(_ index: Int, counting count: (Change) -> Void) {
        let window = altitudes[max(0, index - halfWindow)...min(index + halfWindow, altitudes.count - 1)]
        let mean = window.reduce(0, +) / Double(window.count)
        next = index + 1
        if self.mean.isNaN {
            (low, high) = (mean, mean)
        } else if isBroken {
            low += mean - self.mean
            high += mean - self.mean
        }
        (self.mean, isBroken) = (mean, false)
        let threshold = min(max(Self.turn.barometer, Self.turn.forError * (error ?? 0)), Self.turn.largest)
        let (rise, fall) = (mean - low, high - mean)
        if rise > 0, direction > 0 || rise >= threshold {
            direction = 1
        } else if fall > 0, direction < 0 || fall >= threshold {
            direction = -1
        } else {
            if direction == 0 { (low, high) = (min(low, mean), max(high, mean)) }
            return
        }
        (low, high) = (mean, mean)
        let position = min(start + Int64(index) * Self.second, newest.position)
        count(Change(position: position, ascent: direction > 0 ? rise : 0, descent: direction > 0 ? 0 : fall))
    }
}

/// The median of vertical accuracies so far, in half metres up to 5 m: beyond, the threshold of ``Climb`` stays.
private struct MedianAccuracy: Sendable {
    private static let steps = 2.0
    private var counts = [11 of UInt32](repeating: 0)
    private var count: UInt32 = 0

    mutating func add(_ accuracy: Double) {
        guard accuracy >= 0, count < .max else { return }
        counts[Int(min(Double(counts.count - 1), (accuracy * Self.steps).rounded()))] += 1
        count += 1
    }

    /// `nil` without any.
    var median: Double? {
        guard count > 0 else { return nil }
        var rest = (count + 1) / 2
        for index in counts.indices {
            guard counts[index] < rest else { return Double(index) / Self.steps }
            rest -= counts[index]
        }
        return nil
    }
}
