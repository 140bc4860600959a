/// A rate limit that allows bursts.
package struct TokenBucket<Time: InstantProtocol>: Equatable, Sendable where Time.Duration == Duration {
    /// How many tokens can be taken without a pause.
    package let burst: Double
    package let perSecond: Double
    private var tokens: Double
    private var latest: Time?

    package init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
        tokens = burst
    }

    /// Takes a token; `false` if there is none.
    package mutating func take(_ now: Time) -> Bool {
        let passed = (latest ?? now).duration(to: now) / .seconds(1)
        tokens = min(burst, tokens + passed * perSecond)
        latest = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}
