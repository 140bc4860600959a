/// How long to wait before connecting again: doubling between two bounds, each wait shortened by a random part of up to a
/// half so that clients cut off together do not come back together.
struct Backoff {
    private let minimum: Duration
    private let maximum: Duration
    private var ceiling: Duration
    /// The latest wait, zero before the first.
    private(set) var latest = Duration.zero

    init(minimum: Duration, maximum: Duration) {
        self.minimum = minimum
        self.maximum = maximum
        ceiling = minimum
    }

    mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        latest = ceiling * Double.random(in: 0.5...1, using: &random)
        ceiling = min(ceiling * 2, maximum)
        return latest
    }

    /// A connection that lasted no longer than the wait before it does not count as a success: two clients that throw each
    /// other out would go on at the shortest wait forever.
    mutating func connectionLasted(_ duration: Duration) {
        guard duration > latest else { return }
        ceiling = minimum
    }
}
