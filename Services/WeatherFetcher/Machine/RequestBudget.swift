import Workouts

/// Spends requests as the provider's terms allow: some at once, and so many over time.
struct RequestBudget: Equatable, Sendable {
    /// How many may follow each other without a pause.
    let burst: Double
    let perSecond: Double
    private var allowance: Double
    private var latest: Timestamp?

    init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
        allowance = burst
    }

    /// Whether one more may be made now; it counts as made.
    mutating func spend(_ now: Timestamp) -> Bool {
        // A clock that was set back earns nothing.
        let earned = max(0, now.seconds(since: latest ?? now)) * perSecond
        allowance = min(burst, allowance + earned)
        latest = now
        guard allowance >= 1 else { return false }
        allowance -= 1
        return true
    }
}
