import Testing

@testable import Workouts

/// The highest mean power and heart rate.
@Suite struct BestMeansTests {
    private func bests(_ items: [Sample], _ segments: [Segment], _ activity: Activity = .cycling) -> Bests? {
        summary(["watch": items], segments, activity: activity).bests
    }

    /// Watts a second.
    private func ride(_ watts: [Double], from start: Int = 0) -> [Sample] {
        watts.enumerated().map { sample(Double(start + $0), [.power: $1]) }
    }

    @Test func `the highest mean counts with the active time at its start`() {
        let watts = (0..<400).map { (200..<260).contains($0) ? 300.0 : ((300..<305).contains($0) ? 600 : 100) }
        #expect(
            bests(ride(watts), [segment(0, 400)])?.power == [
                .init(s: 5, w: 600, t: 300), .init(s: 60, w: 300, t: 200), .init(s: 300, w: 148.333, t: 5),
            ])
    }

    @Test func `of equal means the first counts`() {
        let watts = [Double](repeating: 200, count: 100)
        #expect(
            bests(ride(watts), [segment(0, 100)])?.power == [.init(s: 5, w: 200, t: 0), .init(s: 60, w: 200, t: 0)])
    }

    @Test func `a window is within one segment`() {
        let items = ride([Double](repeating: 200, count: 50)) + ride([Double](repeating: 300, count: 58), from: 60)
        let found = bests(items, [segment(0, 50), segment(60, 118)])
        #expect(found?.power == [.init(s: 5, w: 300, t: 50)])
    }

    @Test func `power is held for 3 s and counts as 0 beyond`() {
        let items = [sample(10, [.power: 500]), sample(60, [.power: 100])]
        #expect(bests(items, [segment(0, 100)])?.power == [.init(s: 5, w: 300, t: 8), .init(s: 60, w: 30, t: 3)])
    }

    @Test func `a window begins or ends where a value does`() {
        // 4 s at 400 W between 2.5 and 6.5.
        let items = [0, 1, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5].map { time in
            sample(time, [.power: (2.5..<6.5).contains(time) ? 400 : 100])
        }
        #expect(bests(items, [segment(0, 9)])?.power == [.init(s: 5, w: 340, t: 1.5)])
    }

    @Test func `power without watts gives no best`() {
        #expect(bests(ride([Double](repeating: 0, count: 100)), [segment(0, 100)]) == nil)
        #expect(bests([sample(0, [.power: 100])], [segment(0, 4)]) == nil)
    }

    @Test func `heart rate needs 95 percent of 20 minutes`() {
        func rates(_ gap: Int) -> [Sample] {
            (0..<1_300).filter { !(300..<300 + gap).contains($0) }.map { second in
                sample(Double(second), [.heartRate: second < 100 ? 100 : 150])
            }
        }
        let whole = [segment(0, 1_300)]
        #expect(bests(rates(0), whole, .running)?.heartRate == [.init(s: 1_200, bpm: 150, t: 100)])
        // A value is held for 15 s, so one of 60 unknown seconds more than 5 percent.
        #expect(bests(rates(74), whole, .running)?.heartRate == [.init(s: 1_200, bpm: 150, t: 100)])
        #expect(bests(rates(75), whole, .running)?.heartRate == nil)
        #expect(bests(rates(0), [segment(0, 1_199)], .running)?.heartRate == nil)
    }
}
