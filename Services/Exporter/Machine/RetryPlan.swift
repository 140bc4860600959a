import Workouts

/// When something that failed is tried again: after a minute, then after twice as long each time, up to six hours.
enum RetryPlan {
    static let shortest = 60.0
    static let longest = 6 * 3_600.0
    /// A target that asks for more patience gets it up to this, in seconds.
    static let patience = 7 * 86_400.0

    /// - Parameters:
    ///   - failures: how many there were in a row, at least one.
    ///   - retryAfter: what the target asked for, in seconds.
    static func next(after failures: Int, retryAfter: Double? = nil, now: Timestamp) -> Timestamp {
        // Beyond ten doublings it is the longest anyway.
        let planned = min(shortest * Double(1 << min(failures - 1, 10)), longest)
        guard let retryAfter, retryAfter > planned else { return now + planned }
        return now + min(retryAfter, patience)
    }

    /// Whether the time has come. What lies further ahead than it can be was reckoned before the clock was set back.
    static func isDue(_ time: Timestamp, _ now: Timestamp) -> Bool { time <= now || time > now + patience }
}
