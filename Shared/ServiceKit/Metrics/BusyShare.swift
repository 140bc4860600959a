/// The share of time that a loop spends handling events, over consecutive windows. A value; time is passed in.
package struct BusyShare {
    /// In seconds.
    private let window: Double
    private var start: Moment
    private var busy = 0.0

    /// - Parameter window: in seconds.
    package init(from start: Moment, window: Double = 10) {
        self.start = start
        self.window = window
    }

    /// Counts an event. Returns the share when a window is over, 0 to 1, and begins the next one.
    package mutating func handled(from begin: Moment, to end: Moment) -> Double? {
        busy += end.seconds(since: begin)
        let length = end.seconds(since: start)
        guard length >= window else { return nil }
        defer { self = BusyShare(from: end, window: window) }
        return min(1, busy / length)
    }
}
