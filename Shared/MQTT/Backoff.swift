/// The delay before the next connection attempt. It doubles between two bounds; a random part of up to half is
/// subtracted, so that clients that lost their connection together do not reconnect together.
struct Backoff {
    private let minimum: Duration
    private let maximum: Duration
    private var ceiling: Duration
    /// The latest delay; zero before the first.
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

    /// Resets the delay if the connection lasted longer than it. Otherwise two clients that end each other's connection
    /// would retry at the shortest delay forever.
    mutating func connectionLasted(_ duration: Duration) {
        guard duration > latest else { return }
        ceiling = minimum
    }
}
