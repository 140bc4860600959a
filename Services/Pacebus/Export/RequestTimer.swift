import ServiceKit

/// The times of a repeated request: after each connect, then at an interval.
struct RequestTimer {
    /// Seconds between repetitions.
    static let interval = 5.0

    /// Seconds after a connect.
    private let grace: Double
    /// `nil` without a connection.
    private var dueAt: Moment?

    init(grace: Double = 0) {
        self.grace = grace
    }

    var isConnected: Bool { dueAt != nil }

    mutating func connected(_ now: Moment) { dueAt = now + grace }

    /// Ends the grace period of the first request.
    mutating func hurry(_ now: Moment) { dueAt = dueAt.map { min($0, now) } }

    mutating func disconnected() { dueAt = nil }

    /// Whether the request is due; the next one is due after the interval.
    mutating func take(_ now: Moment) -> Bool {
        guard let dueAt, now >= dueAt else { return false }
        self.dueAt = now + Self.interval
        return true
    }
}
