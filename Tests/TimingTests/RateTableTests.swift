import TestSupport
import Testing
import Timing

struct RateTableTests {
    private typealias Table = RateTable<Int, ContinuousClock.Instant>

    private let start = ContinuousClock.now

    /// How many of some keys get a token.
    private func taken(_ keys: Range<Int>, from table: inout Table, after seconds: Double) -> Int {
        keys.reduce(0) { $0 + (table.take($1, start + .seconds(seconds)) ? 1 : 0) }
    }

    @Test func `a key that rests is forgotten`() {
        var table = Table(burst: 2, perSecond: 1)
        for key in 0..<10_000 { _ = table.take(key, start + .milliseconds(key)) }
        // Those of the last second, and what makes a sweep worth its time.
        #expect(table.count <= 2_001)
    }

    @Test func `while too many keys are busy, a new one gets nothing, and the others what is theirs`() {
        var table = Table(burst: 2, perSecond: 1, limit: 2_000)
        let counts = [
            taken(0..<2_500, from: &table, after: 0), taken(2_400..<2_401, from: &table, after: 0.5),
            taken(7..<8, from: &table, after: 0.5), taken(7..<8, from: &table, after: 0.5),
            taken(2_400..<2_401, from: &table, after: 1.1),
        ]
        #expect(counts == [2_000, 0, 1, 0, 1])
        #expect(table.available(7, start + .seconds(1.5)) == 1)
    }

    @Test func `a small table has room again once the others rest`() {
        var table = Table(burst: 1, perSecond: 1, limit: 10)
        let counts = [taken(0..<20, from: &table, after: 0), taken(20..<40, from: &table, after: 2)]
        #expect(counts == [10, 10])
    }

    @Test func `each key has what a bucket of its own would give`() {
        var random = SeededRandom()
        var table = Table(burst: 3, perSecond: 2)
        var buckets: [Int: TokenBucket<ContinuousClock.Instant>] = [:]
        var now = start
        for _ in 0..<20_000 {
            now += .milliseconds(Int.random(in: 0...2, using: &random))
            let key = Int.random(in: 0..<3_000, using: &random)
            let expected = buckets[key, default: TokenBucket(burst: 3, perSecond: 2)].take(now)
            let (isAvailable, isTaken) = (table.available(key, now) > 0, table.take(key, now))
            guard (isAvailable, isTaken) == (expected, expected) else {
                Issue.record("key \(key) at \(now - start), seed \(random.seed)")
                return
            }
        }
    }
}
