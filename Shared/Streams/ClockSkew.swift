import ServiceKit
import Workouts

/// Decides whether a device's clock is off, by the newest time of each accepted batch against the service's clock.
///
/// It is off when ten batches in a row over at least 10 s arrive in step, within 5 s, and more than 15 s from the service's
/// clock. A pause keeps the step. The items of an offline device that arrive faster than they were measured do not.
struct ClockSkew {
    private static let batches = 10
    private static let duration = 10.0
    private static let step = 5.0
    private static let tolerance = 15.0

    /// How many seconds the device's clock is ahead; `nil` unless it is off.
    private(set) var seconds: Double?
    /// Consecutive batches in step, with the least and the most seconds that they were ahead.
    private var run: (began: Moment, count: Int, least: Double, most: Double)?

    init(_ seconds: Double? = nil) {
        self.seconds = seconds
    }

    /// Receives the newest time of a batch. Returns whether ``seconds`` changed.
    mutating func receive(_ newest: Timestamp, _ now: Moment) -> Bool {
        let ahead = newest.seconds(since: now.wallClock)
        var current = run ?? (now, 0, ahead, ahead)
        current = (current.began, current.count + 1, min(current.least, ahead), max(current.most, ahead))
        if current.most - current.least > Self.step { current = (now, 1, ahead, ahead) }
        run = current
        guard current.count >= Self.batches, now.seconds(since: current.began) >= Self.duration else { return false }
        let isOff = current.least > Self.tolerance || current.most < -Self.tolerance
        let isRight = current.least >= -Self.tolerance && current.most <= Self.tolerance
        // The batch that traveled the shortest time shows the clock best.
        let found = isOff ? (current.most * 10).rounded() / 10 : isRight ? nil : seconds
        if let found, let seconds, abs(found - seconds) <= Self.step { return false }
        guard found != seconds else { return false }
        seconds = found
        return true
    }
}
