/// Rate limits of many keys, such as users: each has a ``TokenBucket`` of its own.
///
/// Its memory is bounded. It forgets buckets that are full again, at most once a second. Beyond `limit` buckets, a new key gets
/// nothing.
package struct RateTable<Key: Hashable & Sendable, Time: InstantProtocol>: Sendable where Time.Duration == Duration {
    /// Below this number of keys nothing is forgotten.
    private static var few: Int { 1_000 }

    private let full: TokenBucket<Time>
    private let limit: Int
    private var buckets: [Key: TokenBucket<Time>] = [:]
    private var sweptAt: Time?
    /// The number of keys that makes another sweep worth its time.
    private var sweepCount: Int

    package init(burst: Double, perSecond: Double, limit: Int = 100_000) {
        full = TokenBucket(burst: burst, perSecond: perSecond)
        self.limit = limit
        sweepCount = min(limit, Self.few)
    }

    package var count: Int { buckets.count }

    /// Takes a token of a key; `false` if it has none.
    package mutating func take(_ key: Key, _ now: Time) -> Bool {
        if buckets[key] == nil, buckets.count >= sweepCount { sweep(now) }
        guard buckets[key] != nil || buckets.count < limit else { return false }
        var bucket = buckets[key] ?? full
        defer { buckets[key] = bucket }
        return bucket.take(now)
    }

    /// How many tokens a key can take now, unless it is new and there is no room for it.
    package func available(_ key: Key, _ now: Time) -> Int {
        var bucket = buckets[key] ?? full
        return bucket.available(now)
    }

    private mutating func sweep(_ now: Time) {
        guard sweptAt.map({ $0.duration(to: now) >= .seconds(1) }) ?? true else { return }
        sweptAt = now
        buckets = buckets.filter { _, bucket in
            var bucket = bucket
            return bucket.available(now) < Int(full.burst)
        }
        sweepCount = min(limit, max(Self.few, 2 * buckets.count))
    }
}
