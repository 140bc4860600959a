import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Streams

@Suite struct ClockSkewTests {
    private let start = Moment(Timestamp(seconds: 1_700_000_000))

    /// The skews that a device reports over batches at these times, in seconds, with clocks ahead by these.
    private func skews(_ batches: [(at: Double, ahead: Double)]) -> [Double?] {
        var skew = ClockSkew()
        return batches.compactMap { batch in
            let now = start + batch.at
            return skew.receive(now.wallClock + batch.ahead, now) ? .some(skew.seconds) : nil
        }
    }

    private func live(_ seconds: Range<Int>, ahead: Double) -> [(at: Double, ahead: Double)] {
        seconds.map { (Double($0), ahead) }
    }

    @Test func `ten batches in step over ten seconds show a clock that is off`() {
        #expect(skews(live(0..<10, ahead: 180)) == [])
        #expect(skews(live(0..<11, ahead: 180)) == [180])
        #expect(skews(live(0..<11, ahead: -3_600)) == [-3_600])
        // Ten batches within a second may be a burst.
        #expect(skews((0..<20).map { (Double($0) / 20, 180) }) == [])
    }

    @Test func `a clock within 15 s is right, and a corrected one is reported`() {
        #expect(skews(live(0..<100, ahead: 14)) == [])
        #expect(skews(live(0..<20, ahead: 180) + live(20..<60, ahead: 0.5)) == [180, nil])
        #expect(skews(live(0..<20, ahead: 180) + live(20..<60, ahead: 60)) == [180, 60])
    }

    @Test func `late batches keep the step within five seconds, and the fastest shows the clock`() {
        var random = SeededRandom()
        for _ in 0..<50 {
            let ahead = Double.random(in: 25...1_000, using: &random)
            let delays = (0..<40).map { _ in Double.random(in: 0...4.9, using: &random) }
            let found = skews(delays.enumerated().map { (Double($0.offset), ahead - $0.element) })
            #expect(found.count == 1)
            #expect(found.allSatisfy { ahead - ($0 ?? 0) < 5.1 && ahead - ($0 ?? 0) > -0.1 })
        }
    }

    @Test func `pauses and backlogs show no clock`() {
        // An offline device sends an hour, four times as fast as measured, and is live again.
        let backlog = (0..<900).map { (Double($0), -3_600 + Double($0) * 4) }
        #expect(skews(backlog + live(900..<1_000, ahead: -0.3)) == [])
        // A pause of an hour between batches of a right clock.
        #expect(skews(live(0..<8, ahead: -1) + live(3_600..<3_650, ahead: -1)) == [])
        // A pause within a skewed stream changes nothing.
        #expect(skews(live(0..<8, ahead: 90) + live(3_600..<3_603, ahead: 90)) == [90])
    }
}
