import TestSupport
import Testing
import Timing

struct TokenBucketTests {
    private let start = ContinuousClock.now

    @Test func `a burst empties it and the rate refills it up to the burst`() {
        var bucket = TokenBucket<ContinuousClock.Instant>(burst: 3, perSecond: 2)
        func taken(after seconds: Double) -> Int { (0..<10).count { _ in bucket.take(start + .seconds(seconds)) } }
        #expect(taken(after: 0) == 3)
        #expect(taken(after: 0.4) == 0)
        #expect(taken(after: 1) == 2)
        #expect(taken(after: 1_000) == 3)
    }

    @Test func `tokens are taken together or not at all, and unused ones come back`() {
        var bucket = TokenBucket<ContinuousClock.Instant>(burst: 10, perSecond: 2)
        let taken = [8, 3].map { bucket.take(start, count: $0) }
        #expect(taken == [true, false])
        let waits = [2, 5, 1_000].map { bucket.seconds(until: $0, start) }
        #expect(waits == [0, 1.5, 4])
        let available = [0, 5, 50].map { count in
            bucket.giveBack(count)
            return bucket.available(start)
        }
        #expect(available == [2, 7, 10])
    }

    @Test func `at any times it gives no more than burst and rate allow`() {
        var random = SeededRandom()
        for _ in 0..<100 {
            let burst = Double.random(in: 1...50, using: &random)
            let perSecond = Double.random(in: 0.01...20, using: &random)
            var bucket = TokenBucket<ContinuousClock.Instant>(burst: burst, perSecond: perSecond)
            var seconds = 0.0
            var taken = 0
            for _ in 0..<500 {
                seconds += Double.random(in: 0...2, using: &random)
                for _ in 0..<Int.random(in: 0...5, using: &random) where bucket.take(start + .seconds(seconds)) {
                    taken += 1
                }
                #expect(Double(taken) <= burst + seconds * perSecond + 1e-6)
            }
        }
    }
}
