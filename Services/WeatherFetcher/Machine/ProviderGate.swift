import Workouts

/// Whether the provider may be asked: not for a while after it failed.
struct ProviderGate: Equatable {
    /// A provider that refuses is left alone for this long, in seconds.
    static let refusalPause = 3_600.0
    /// What a provider asks for beyond this, in seconds, is not waited for.
    static let longestPause = 86_400.0

    /// Failures in a row.
    private(set) var failures = 0
    private(set) var closedUntil: Timestamp?
    private var failedAt: Timestamp?

    func isOpen(_ now: Timestamp) -> Bool {
        guard let closedUntil else { return true }
        // Further away than any pause is long: the clock was set back.
        return closedUntil <= now || closedUntil > now + Self.longestPause
    }

    mutating func succeeded() {
        self = ProviderGate()
    }

    /// Takes note of a failure.
    ///
    /// - Parameters:
    ///   - askedAt: when the request was made: of several that failed together only the first counts.
    ///   - pause: how long the provider is to be left alone at least, in seconds.
    mutating func failed(
        askedAt: Timestamp, now: Timestamp, pause: Double = 0, using random: inout some RandomNumberGenerator
    ) {
        let isNew = failedAt.map { askedAt > $0 || now < $0 } ?? true
        if isNew {
            failures += 1
            failedAt = now
        }
        let wait = max(isNew ? RetryDelay.seconds(failures: failures, using: &random) : 0, pause)
        let until = now + min(wait, Self.longestPause)
        closedUntil = isOpen(now) ? until : max(closedUntil ?? until, until)
    }
}
