import Testing
import Workouts

@Suite struct SummaryTests {
    @Test func `an average is time-weighted`() {
        let result = summary(
            ["watch": [sample(0, [.heartRate: 100]), sample(10, [.heartRate: 160])]], [segment(0, 15)])
        #expect(result.averageHeartRate == 120)
        #expect(result.maximumHeartRate == 160)
    }

    @Test func `a value counts for at most 15 seconds`() {
        let result = summary(
            ["watch": [sample(0, [.power: 100]), sample(60, [.power: 200])]], [segment(0, 65)])
        #expect(result.averagePower == 125)
    }

    @Test func `a value does not count over a pause`() {
        let items = [sample(8, [.heartRate: 100]), sample(33, [.heartRate: 160])]
        let result = summary(["watch": items], [segment(0, 10), segment(30, 35)])
        #expect(result.averageHeartRate == 130)
    }

    @Test func `items outside closed segments do not count`() {
        let items = (-5..<40).map { sample(Double($0), [.heartRate: $0 < 0 ? 200 : 100, .steps: 1]) }
        let result = summary(["watch": items], [segment(0, 10), segment(20, 25), segment(30, nil)])
        #expect(result.maximumHeartRate == 100)
        #expect(result.steps == 17)
        #expect(summary(["watch": items], [segment(0, nil)]) == MetricsSummary())
    }

    @Test func `a reading of no duration still gives an average`() {
        #expect(summary(["watch": [sample(10, [.cadence: 80])]], [segment(0, 10)]).averageCadence == 80)
    }

    @Test func `the watch counts and a phone at the same time does not`() {
        let watch = (0...20).map { sample(Double($0), [.distance: 3, .heartRate: 120]) }
        let phone = (0...20).map { sample(Double($0), [.distance: 4, .heartRate: 90]) }
        let result = summary(["watch-1": watch, "phone-1": phone], [segment(0, 20)])
        #expect(result.distance == 63)
        #expect(result.averageHeartRate == 120)
    }

    @Test func `a strap takes precedence for heart rate and a watch for distance`() {
        let watch = (0...20).map { sample(Double($0), [.distance: 3, .heartRate: 120]) }
        let strap = (0...20).map { sample(Double($0), [.distance: 9, .heartRate: 150]) }
        let result = summary(["watch-1": watch, "strap-1": strap], [segment(0, 20)])
        #expect(result.averageHeartRate == 150)
        #expect(result.distance == 63)
    }

    @Test(arguments: [(15, 0.0), (16, 15.0)])
    func `only a gap of more than 15 seconds belongs to the next source`(length: Int, phoneMeters: Double) {
        let end = 10 + length
        let watch = (Array(1...10) + Array(end...40)).map { sample(Double($0), [.distance: $0 == end ? 0 : 2]) }
        let phone = (1...40).map { sample(Double($0), [.distance: 1]) }
        let result = summary(["watch-1": watch, "phone-1": phone], [segment(0, 40)])
        #expect(result.distance == Double(2 * (watch.count - 1)) + phoneMeters)
    }

    @Test func `of the delta that ends a gap only the excess counts`() {
        let phone = (1...60).map { sample(Double($0), [.distance: 1]) }
        for (delta, extra) in [(50.0, 21.0), (29, 0), (10, 0)] {
            let watch = [sample(1, [.distance: 2]), sample(31, [.distance: delta]), sample(32, [.distance: 2])]
            // The phone counts from 2 to 30 and from 33 on.
            let result = summary(["watch-1": watch, "phone-1": phone], [segment(0, 60)])
            #expect(result.distance == 2 + 29 + extra + 2 + 28)
        }
    }

    @Test func `a delta includes the time since the item before a pause`() {
        let items = [sample(5, [.distance: 10]), sample(15, [.distance: 20]), sample(25, [.distance: 30])]
        #expect(summary(["watch": items], [segment(0, 10), segment(20, 30)]).distance == 40)
    }

    @Test func `splits end where the distance reaches them`() {
        let items = (1...700).map { sample(Double($0), [.distance: 3, .heartRate: $0 <= 400 ? 100 : 150]) }
        let result = summary(["watch": items], [segment(0, 700)])
        #expect(result.splits.map(\.distance) == [1_000, 1_000, 100])
        #expect(result.splits.map(\.duration) == [333.333, 333.333, 33.333])
        #expect(result.splits.first?.averageHeartRate == 100)
        #expect(result.splits.last?.averageHeartRate == 150)
        let miles = summary(["watch": items], [segment(0, 700)], units: .imperial)
        #expect(miles.splits.map(\.distance) == [1_609.344, 490.656])
    }

    @Test func `a distance just short of a split has no such split`() {
        for count in 1..<MetricsSummary.splitLimit(laps: 1) {
            // Divided by the length, some of these round up to a whole number of miles.
            let meters = (Double(count) * 1_609.344).nextDown
            let result = summary(["watch": [sample(1, [.distance: meters])]], [segment(0, 60)], units: .imperial)
            #expect(result.splits.count == count || result.splits.count == count - 1)
        }
    }

    @Test func `splits beyond their limit are left out and the distance is not`() {
        let items = (1...150).map { sample(Double($0), [.distance: 10_000]) }
        let result = summary(["watch": items], [segment(0, 150)])
        #expect(result.splits.count == MetricsSummary.splitLimit(laps: 1))
        #expect(result.splits.allSatisfy { $0.distance == 1_000 })
        #expect(result.distance == 1_500_000)
    }

    @Test func `laps have the totals between their marks`() throws {
        let items = (1...100).map {
            sample(Double($0), [.distance: 2, .activeEnergy: 0.5, .heartRate: $0 <= 30 ? 100 : 140])
        }
        let result = summary(["watch": items], [segment(0, 50), segment(60, 100)], laps: [30, 80])
        #expect(result.laps.map(\.duration) == [30, 40, 20])
        #expect(result.laps.map(\.startedAt) == [0, 30, 80].map { year2026 + $0 })
        #expect(result.laps.compactMap(\.maximumHeartRate) == [100, 140, 140])
        let total = try #require(result.distance)
        #expect(abs(result.laps.compactMap(\.distance).reduce(0, +) - total) < 0.01)
        #expect(result.laps.compactMap(\.activeEnergy).first == 15)
        #expect(summary(["watch": items], [segment(0, 50)]).laps.isEmpty)
    }

    @Test func `a lap's average does not exceed its maximum`() {
        let items = [sample(0, [.heartRate: 180]), sample(12, [.heartRate: 100])]
        let lap = summary(["watch": items], [segment(0, 20)], laps: [5]).laps[1]
        #expect(lap.averageHeartRate == 137.333)
        #expect(lap.maximumHeartRate == 180)
    }

    @Test func `average speed is distance by active time`() throws {
        let items = (1...60).map { sample(Double($0), [.distance: 3, .speed: 2.5]) }
        let result = summary(["watch": items], [segment(0, 30), segment(40, 60)])
        #expect(result.distance == 153)
        #expect(result.averageSpeed == 3.06)
        #expect(try #require(result.maximumSpeed) >= 3.06)
    }
}
