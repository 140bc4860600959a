import TestSupport
import Testing

@testable import MQTT

@Suite struct BackoffTests {
    @Test func `delays double up to the maximum and are shortened by at most half`() {
        var random = SeededRandom()
        var backoff = Backoff(minimum: .milliseconds(100), maximum: .seconds(1))
        for ceiling in [100, 200, 400, 800, 1_000, 1_000] {
            let wait = backoff.next(using: &random)
            #expect(wait >= .milliseconds(ceiling) / 2 && wait <= .milliseconds(ceiling))
        }
    }

    @Test func `a connection that lasted longer than the last delay resets the backoff`() {
        var random = SeededRandom(seed: 1)
        var backoff = Backoff(minimum: .milliseconds(100), maximum: .seconds(30))
        for _ in 0..<5 { _ = backoff.next(using: &random) }
        backoff.connectionLasted(.seconds(2))
        #expect(backoff.next(using: &random) <= .milliseconds(100))
    }

    @Test func `a connection that ended at once does not reset the backoff`() {
        var random = SeededRandom(seed: 1)
        var backoff = Backoff(minimum: .milliseconds(100), maximum: .seconds(30))
        for _ in 0..<5 { _ = backoff.next(using: &random) }
        backoff.connectionLasted(.milliseconds(10))
        #expect(backoff.next(using: &random) >= .milliseconds(1_600))
    }

    @Test func `two clients have different delays`() {
        var random = SeededRandom(seed: 7)
        var one = Backoff(minimum: .seconds(1), maximum: .seconds(30))
        var other = one
        #expect(one.next(using: &random) != other.next(using: &random))
    }
}
