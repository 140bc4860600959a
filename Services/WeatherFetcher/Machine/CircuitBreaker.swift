import ServiceKit
import Timing

/// Stops requests to a provider for a while after it failed.
struct CircuitBreaker: Equatable {
    /// The pause after a provider refused, in seconds.
    static let refusalPause = 3_600.0
    /// The longest pause that a provider may ask for, in seconds.
    static let longestPause = 86_400.0

    /// Failures in a row.
    private(set) var failures = 0
    /// While it is open no request is made.
    private(set) var openUntil: Moment?
    private var failedAt: Moment?

    func isOpen(_ now: Moment) -> Bool { openUntil.map { now < $0 } ?? false }

    mutating func succeeded() {
        self = CircuitBreaker()
    }

    /// Counts a failure.
    ///
    /// - Parameters:
    ///   - askedAt: the time of the request: requests that fail together count as one failure.
    ///   - pause: the least pause, in seconds.
    mutating func failed(
        askedAt: Moment, now: Moment, pause: Double = 0, using random: inout some RandomNumberGenerator
    ) {
        let isNew = failedAt.map { askedAt > $0 } ?? true
        if isNew {
            failures += 1
            failedAt = now
        }
        let delay = isNew ? WeatherFetcherMachine.backoff.delay(after: failures, using: &random) : 0
        let until = now + min(max(delay, pause), Self.longestPause)
        openUntil = isOpen(now) ? max(openUntil ?? until, until) : until
    }
}
