import Testing

@testable import Workouts

@Suite struct AverageTests {
    @Test func `cadence leaves zeros out and power counts them`() {
        let items = (0..<100).map {
            sample(Double($0), $0 < 60 ? [.cadence: 90, .power: 200] : [.cadence: 0, .power: 0])
        }
        let result = summary(["watch": items], [segment(0, 100)], activity: .cycling)
        #expect(result.averageCadence == 90)
        #expect(result.averagePower == 120)
        #expect(summary(["watch": Array(items[60...])], [segment(60, 100)]).averageCadence == nil)
    }

    @Test func `a power meter's zero lasts 3 s and another value 15`() {
        let items = [sample(0, [.power: 100]), sample(15, [.power: 0]), sample(45, [.power: 100])]
        #expect(summary(["watch": items], [segment(0, 60)]).averagePower == 90.909)
    }

    @Test(arguments: [
        (Activity.running, 2.0, 500.0 as Double?), (.hiking, 0.55, nil), (.swimming, 0.5, 2_000),
        (.swimming, 0.16, nil),
        (.cycling, 8, nil), (.walking, 0.56, 1785.714),
    ])
    func `pace follows the activity`(activity: Activity, speed: Double, pace: Double?) {
        let items = (1...600).map { sample(Double($0), [.distance: speed]) }
        let result = summary(["watch": items], [segment(0, 600)], laps: [300], activity: activity)
        #expect(result.laps.map { $0.pace.map(thousandths) } == [pace, pace])
    }

    @Test func `moving time leaves out stretches of 5 s and more at rest`() {
        // Four seconds at a traffic light count as moving, a minute does not.
        let items = (1...600).map {
            let isRest = (100..<104).contains($0) || (300..<360).contains($0)
            return sample(Double($0), [.distance: isRest ? 0 : 3])
        }
        let result = summary(["watch": items], [segment(0, 600)], activity: .running)
        #expect(result.movingDuration == 540)
        #expect(summary(["watch": items], [segment(0, 600)], activity: .hiit).movingDuration == nil)
        // Nothing moves after the last reading.
        #expect(summary(["watch": items], [segment(0, 900)], activity: .running).movingDuration == 540)
    }

    @Test func `the maximum speed is at least the average and exists without measured speeds`() throws {
        let hike = (0...600).map { sample(Double($0), [.distance: 4.5, .speed: 2]) }
        let result = summary(["watch": hike], [segment(0, 600)], activity: .hiking)
        #expect(try #require(result.maximumSpeed) >= (try #require(result.averageSpeed)))
        let sprint = (1...600).map { sample(Double($0), [.distance: (300..<310).contains($0) ? 6 : 3]) }
        #expect(summary(["watch": sprint], [segment(0, 600)]).maximumSpeed == 6)
    }

    @Test func `a single measured speed far beyond its neighbours is not the maximum`() {
        let items = (0...60).map { second in
            sample(Double(second), [.distance: 3, .speed: second == 30 ? 40 : second == 50 ? 5 : 3])
        }
        #expect(summary(["watch": items], [segment(0, 60)]).maximumSpeed == 5)
    }

    @Test func `laps and splits carry every total`() throws {
        let items = (1...1_000).map { second in
            var item = sample(Double(second), [.distance: 4, .activeEnergy: 0.2])
            item[.heartRate] = second <= 500 ? 120 : 160
            item[.cadence] = second <= 500 ? 80 : 90
            item[.power] = second <= 500 ? 200 : 250
            item[.barometricAltitude] = 500 + max(0, Double(second - 500)) / 10
            return item
        }
        let result = summary(["watch": items], [segment(0, 1_000)], laps: [500], activity: .running)
        let lap = try #require(result.laps.last)
        #expect(lap.duration == 500 && lap.distance == 2_000 && lap.pace == 250 && lap.activeEnergy == 100)
        #expect(lap.averageHeartRate == 159.92 && lap.maximumHeartRate == 160)
        #expect(lap.averageCadence == 89.98 && lap.averagePower == 249.9)
        #expect(lap.ascent.map { abs($0 - 50) < 3 } == true && result.laps[0].ascent == 0)
        let split = try #require(result.splits.last)
        #expect(split.distance == 1_000 && split.duration == 250 && split.pace == 250 && split.activeEnergy == 50)
        #expect(split.averageHeartRate == 160 && split.averageCadence == 90 && split.averagePower == 250)
    }
}
