import Foundation
import TestSupport
import Testing

@testable import Workouts

@Suite struct ClimbTests {
    private func climb(
        _ altitudes: [Double], accuracy: Double = .nan, interval: Int64 = 1, lines: Set<Int> = []
    ) -> (ascent: Double, descent: Double) {
        var climb = Climb()
        var (ascent, descent) = (0.0, 0.0)
        func count(_ change: Climb.Change) {
            ascent += change.ascent
            descent += change.descent
        }
        for (index, altitude) in altitudes.enumerated() {
            if lines.contains(index) { climb.startLine() }
            climb.add(altitude, at: Int64(index) * interval * 1_000_000, accuracy: accuracy, counting: count)
        }
        climb.finish(counting: count)
        return (ascent, descent)
    }

    /// The devices' own totals are 904 m and 8 m.
    @Test(arguments: [("ride-39km-with-pauses.fit", Activity.cycling, 939.0), ("run-5km.fit", .running, 10)])
    func `the altitudes of a recording give the ascent of the method`(
        name: String, activity: Activity, ascent: Double
    ) throws {
        guard let route = try RecordedRoute(name, activity), let counted = route.ascent else { return }
        let found = try #require(route.summary().ascent)
        print("ascent of \(name): \(found) m by altitude, \(counted) m by its device")
        #expect(abs(found - ascent) <= 1)
    }

    @Test func `the noise of a barometer adds less than 5 m an hour`() {
        var random = SeededRandom()
        let hours = (0..<8).map { _ in climb(random.altitudes(noise: 0.5, correlation: 60)).ascent }
        #expect(hours.reduce(0, +) / 8 < 5, "\(hours), seed \(random.seed)")
    }

    @Test func `the noise of GPS adds about 60 m an hour`() {
        var random = SeededRandom()
        let hours = (0..<40).map { _ in climb(random.altitudes(noise: 3, correlation: 60), accuracy: 3).ascent }
        // The expected value is 59 m; the mean of 40 hours has a deviation of 1.6 m.
        #expect(hours.reduce(0, +) / 40 <= 66, "\(hours), seed \(random.seed)")
    }

    @Test(arguments: [0.5, 1, 2, 3])
    func `white noise adds less than 15 m an hour without an accuracy too`(noise: Double) {
        var random = SeededRandom()
        let ascent = climb(random.altitudes(noise: noise, correlation: 0)).ascent
        #expect(ascent < 15, "seed \(random.seed)")
    }

    @Test func `60 hills of 6 m count`() {
        let hills = (0..<3_600).map { second in
            let phase = Double(second % 60) / 60
            return ((500 + 6 * (phase < 0.5 ? 2 * phase : 2 - 2 * phase)) * 5).rounded() / 5
        }
        #expect(abs(climb(hills).ascent - 360) < 90)
    }

    @Test func `the first leg counts from its lowest point`() {
        // Down 2 m, up 12 m.
        let altitudes = (0...400).map { second -> Double in
            second < 200 ? 500 - Double(second) / 100 : 498 + Double(second - 200) * 0.06
        }
        let (ascent, descent) = climb(altitudes)
        #expect(abs(ascent - 12) < 0.5 && descent == 0)
    }

    @Test(arguments: [1, 5, 10, 25, 120])
    func `a steady climb counts in full at any interval`(interval: Int64) {
        let altitudes = (0...40).map { 500 + Double($0) * Double(interval) / 2 }
        #expect(abs(climb(altitudes, interval: interval).ascent - 20 * Double(interval)) <= 3)
    }

    @Test func `a change during a pause does not count and a hill goes on after it`() {
        let altitudes = (0..<200).map { second -> Double in 500 + Double(second) / 50 + (second < 100 ? 0 : 300) }
        #expect(abs(climb(altitudes, lines: [100]).ascent - 4) < 0.3)
    }

    @Test func `a jump of the sensor is no ascent`() {
        let altitudes = (0..<600).map { second in second == 100 ? 2_000 : second < 300 ? 500.0 : 600 }
        #expect(climb(altitudes).ascent == 0)
    }

    @Test func `a device's own count wins in totals, splits, laps and live metrics`() throws {
        let segments = [segment(0, 1_000)]
        let items = (1...1_000).map { second in
            sample(
                Double(second),
                [
                    .distance: 3, .barometricAltitude: 500 + Double(second) / 10, .ascent: second > 500 ? 0.25 : 0,
                    .descent: 0.01,
                ])
        }
        let result = summary(["watch": items], segments, laps: [500])
        #expect(result.ascent == 125)
        #expect(abs(try #require(result.descent) - 10) < 0.001)
        #expect(result.laps.map(\.ascent) == [0, 125])
        #expect(abs(result.splits.compactMap(\.ascent).reduce(0, +) - 125) < 0.01)
        let watch = Device("watch-1")!
        var live = LiveMetrics()
        live.addItems(items, from: watch, segments: segments, now: year2026)
        let session = Session(
            key: SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!),
            start: SessionStart(activity: .running, countdown: 0), at: year2026, now: year2026)
        let snapshot = live.snapshot(session.state(revision: 1), revision: 1, count: 1_000, isSilent: false)
        #expect(snapshot.ascent == 125)
    }

    @Test func `live ascent by barometer equals the summary's after every item`() throws {
        var random = SeededRandom()
        let watch = Device("watch-1")!
        for _ in 0..<5 {
            let pause = Double.random(in: 100...200, using: &random)
            let segments = [segment(0, pause), segment(pause + 50, 400)]
            let altitudes = random.altitudes(noise: 8, correlation: 40)
            var time = 0.0
            var items: [Sample] = []
            while time < 400 {
                items.append(sample(time, [.barometricAltitude: altitudes[Int(time)]]))
                time += Int.random(in: 0..<20, using: &random) == 0 ? 40 : .random(in: 0.5...3, using: &random)
            }
            let session = Session(
                key: SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!),
                start: SessionStart(activity: .running, countdown: 0), at: year2026, now: year2026)
            var live = LiveMetrics()
            for (index, item) in items.enumerated() {
                live.addSample(item, from: watch, segments: segments)
                let snapshot = live.snapshot(session.state(revision: 1), revision: 1, count: 1, isSilent: false)
                let result = summary(["watch-1": Array(items[...index])], segments)
                #expect(live.isExact && snapshot.ascent == result.ascent, "seed \(random.seed)")
            }
        }
    }
}

extension SeededRandom {
    /// An hour of altitudes around 500 m, one a second, whose errors are correlated over some seconds.
    fileprivate mutating func altitudes(noise: Double, correlation: Double) -> [Double] {
        let kept = correlation > 0 ? exp(-1 / correlation) : 0
        var error = normal(noise)
        return (0..<3_600).map { _ in
            defer { error = kept * error + (1 - kept * kept).squareRoot() * normal(noise) }
            return 500 + error
        }
    }
}
