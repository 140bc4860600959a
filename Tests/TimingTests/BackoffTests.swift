import TestSupport
import Testing
import Timing

struct BackoffTests {
    private let backoff = Backoff(minimum: 5, maximum: 60)

    @Test(arguments: [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (6, 60), (64, 60), (Int.max, 60)] as [(Int, Double)])
    func `waits double from the minimum to the maximum`(failures: Int, expected: Double) {
        #expect(backoff.delay(after: failures) == expected)
    }

    @Test(arguments: [0, -1, Int.min]) func `without a failure the wait is the minimum`(failures: Int) {
        #expect(backoff.delay(after: failures) == 5)
    }

    @Test func `random waits are shortened by at most half, and differ`() {
        var random = SeededRandom()
        let waits = (0..<20).map { _ in backoff.delay(after: 4, using: &random) }
        #expect(waits.allSatisfy { (20.0...40).contains($0) })
        #expect(Set(waits).count == 20)
    }
}
