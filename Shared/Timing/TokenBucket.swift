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

    /// Takes tokens, all or none; `false` if there are too few.
    package mutating func take(_ now: Time, count: Int = 1) -> Bool {
        guard available(now) >= count else { return false }
        spend(count)
        return true
    }

    /// Takes tokens that ``available(_:)`` has just found.
    package mutating func spend(_ count: Int) { tokens -= Double(count) }

    /// How many tokens can be taken now.
    package mutating func available(_ now: Time) -> Int {
        let passed = (latest ?? now).duration(to: now) / .seconds(1)
        tokens = min(burst, tokens + passed * perSecond)
        latest = now
        // Sums of fractions may be slightly below a whole number.
        return Int(tokens + 1e-7)
    }

    /// Returns tokens that were taken and not used.
    package mutating func giveBack(_ count: Int) {
        tokens = min(burst, tokens + Double(count))
    }

    /// The seconds until `count` tokens, at most a burst, can be taken.
    package mutating func seconds(until count: Int, _ now: Time) -> Double {
        _ = available(now)
        return max(0, (min(Double(count), burst) - tokens) / perSecond)
    }
}
