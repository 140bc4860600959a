/// The share of time that a loop spends handling events, over windows of ten seconds. A value; time is passed in.
struct BusyShare {
    /// The window in seconds.
    static let window = 10.0

    private var start: Moment
    private var busy = 0.0

    init(from start: Moment) {
        self.start = start
    }

    /// Counts an event. Returns the share when a window is over, 0 to 1, and begins the next one.
    mutating func handled(from begin: Moment, to end: Moment) -> Double? {
        busy += end.seconds(since: begin)
        let length = end.seconds(since: start)
        guard length >= Self.window else { return nil }
        defer { self = BusyShare(from: end) }
        return min(1, busy / length)
    }
}
