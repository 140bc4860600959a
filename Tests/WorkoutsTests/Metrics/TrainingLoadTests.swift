import Testing

@testable import Workouts

@Suite struct TrainingLoadTests {
    private func physiology(
        _ sex: Profile.Sex? = .male, resting: Double? = 60, maximum: Double? = 190, threshold: Double? = nil,
        birthYear: Int? = nil
    ) -> Physiology {
        var profile = Profile()
        (profile.sex, profile.restingHeartRate, profile.maximumHeartRate) = (sex, resting, maximum)
        (profile.thresholdPower, profile.birthYear) = (threshold, birthYear)
        var physiology = Physiology()
        physiology.load = LoadBasis(profile, startedAt: year2026)
        return physiology
    }

    private func load(
        _ items: [Sample], _ segments: [Segment], _ physiology: Physiology, _ activity: Activity = .running
    ) -> TrainingLoad? {
        summary(["watch": items], segments, physiology: physiology, activity: activity).load
    }

    private func rates(_ seconds: Range<Int>, _ rate: Double = 150) -> [Sample] {
        seconds.map { sample(Double($0), [.heartRate: rate]) }
    }

    private func ride(_ seconds: Range<Int>, _ watts: (Int) -> Double) -> [Sample] {
        seconds.map { sample(Double($0), [.power: watts($0)]) }
    }

    // MARK: Heart rate

    @Test(arguments: [(Profile.Sex.male, 75.3), (.female, 85.1), (.other, 80.2)])
    func `45 minutes at 150 with 60 and 190 have the published load`(sex: Profile.Sex, expected: Double) throws {
        let found = load(rates(0..<2_700), [segment(0, 2_700)], physiology(sex))
        #expect(abs(try #require(found?.heartRate) - expected) < 0.05)
    }

    @Test func `heart rates outside of the reserve count as its ends`() throws {
        let whole = [segment(0, 600)]
        #expect(load(rates(0..<600, 50), whole, physiology())?.heartRate == 0)
        #expect(load(rates(0..<600, 220), whole, physiology()) == load(rates(0..<600, 190), whole, physiology()))
    }

    @Test func `pauses do not count and silences are not filled`() {
        let halves = rates(0..<300) + rates(900..<1_200)
        let paused = load(halves, [segment(0, 300), segment(900, 1_200)], physiology())
        #expect(paused == load(rates(0..<600), [segment(0, 600)], physiology()))
        // 14 s more, because the last value is held for 15 s.
        let silent = load(halves, [segment(0, 1_200)], physiology())
        #expect(silent == load(rates(0..<614), [segment(0, 614)], physiology()))
    }

    @Test func `less than half of the time gives no load`() {
        #expect(load(rates(0..<486), [segment(0, 1_000)], physiology())?.heartRate != nil)
        #expect(load(rates(0..<485), [segment(0, 1_000)], physiology()) == nil)
    }

    @Test func `without resting rate, maximum or sex there is no load`() {
        let (items, whole) = (rates(0..<600), [segment(0, 600)])
        #expect(load(items, whole, Physiology()) == nil)
        #expect(load(items, whole, physiology(nil)) == nil)
        #expect(load(items, whole, physiology(resting: nil)) == nil)
        #expect(load(items, whole, physiology(maximum: nil)) == nil)
        #expect(load(items, whole, physiology(resting: 120, maximum: 110)) == nil)
        // The maximum of the age.
        let aged = load(items, whole, physiology(maximum: nil, birthYear: 1986))
        #expect(aged == load(items, whole, physiology(maximum: 180)))
    }

    // MARK: Power

    @Test func `an hour of 300 and 100 W in turn by minutes has the published normalized power`() throws {
        let items = ride(0..<3_600) { $0 / 60 % 2 == 0 ? 300 : 100 }
        let found = try #require(load(items, [segment(0, 3_600)], physiology(threshold: 250), .cycling))
        #expect(abs(try #require(found.normalizedPower) - 239.1) < 0.05)
        #expect(found.intensity == 0.956)
        #expect(abs(try #require(found.stress) - 100 * 0.9564 * 0.9564) < 0.01)
    }

    @Test func `an hour at threshold power has a stress of 100`() {
        let found = load(ride(0..<3_600) { _ in 250 }, [segment(0, 3_600)], physiology(threshold: 250), .cycling)
        #expect(found?.normalizedPower == 250 && found?.intensity == 1 && found?.stress == 100)
    }

    @Test func `active time is joined over a pause`() {
        let watts: (Int) -> Double = { $0 / 60 % 2 == 0 ? 300 : 100 }
        let paused = ride(0..<430, watts) + ride(1_000..<1_770) { watts($0 - 570) }
        let joined = load(paused, [segment(0, 430), segment(1_000, 1_770)], physiology(), .cycling)
        #expect(joined == load(ride(0..<1_200, watts), [segment(0, 1_200)], physiology(), .cycling))
    }

    /// The definition, of runs with a power for each second.
    private func normalized(_ runs: [[Double]]) -> Double {
        let averages = runs.flatMap { run in
            (30...run.count).map { run[$0 - 30..<$0].reduce(0, +) / 30 }
        }
        let powers = averages.reduce(0) { $0 + $1 * $1 * $1 * $1 }
        return (powers / Double(averages.count)).squareRoot().squareRoot()
    }

    @Test func `a silence of more than 15 s begins the average again`() throws {
        func found(_ next: Int) throws -> Double {
            let items = ride(0..<600) { _ in 100 } + ride(next..<1_300) { _ in 300 }
            return try #require(load(items, [segment(0, 1_300)], physiology(), .cycling)?.normalizedPower)
        }
        let first = [Double](repeating: 100, count: 614)
        #expect(abs(try found(614) - normalized([first + [Double](repeating: 300, count: 686)])) < 0.001)
        #expect(abs(try found(615) - normalized([first, [Double](repeating: 300, count: 685)])) < 0.001)
        #expect(try found(614) != found(615))
    }

    @Test func `values between whole seconds count for their time`() throws {
        // Turns of 2.5 s; the last seconds of the definition are means of both.
        let items = (0..<480).map { sample(Double($0) * 2.5, [.power: $0 % 2 == 0 ? 100 : 300]) }
        let turn: [Double] = [100, 100, 200, 300, 300]
        let seconds = (0..<1_200).map { turn[$0 % 5] }
        let found = load(items, [segment(0, 1_200)], physiology(), .cycling)
        #expect(abs(try #require(found?.normalizedPower) - normalized([seconds])) < 0.001)
    }

    @Test func `less than ten minutes of power give nothing`() {
        #expect(load(ride(0..<599) { _ in 200 }, [segment(0, 599)], physiology(threshold: 250), .cycling) == nil)
        let long = load(ride(0..<600) { _ in 200 }, [segment(0, 600)], physiology(threshold: 250), .cycling)
        #expect(long?.stress == 10.667)
    }

    @Test func `power for less than 90 percent of the time gives no stress`() {
        func found(_ end: Double) -> TrainingLoad? {
            load(ride(0..<886) { _ in 200 }, [segment(0, end)], physiology(threshold: 250), .cycling)
        }
        #expect(found(1_000)?.stress != nil)
        #expect(found(1_001)?.normalizedPower == 200)
        #expect(found(1_001)?.intensity == nil && found(1_001)?.stress == nil)
    }

    @Test func `power gives a load in cycling alone, and stress with a threshold`() {
        let (items, whole) = (ride(0..<1_200) { _ in 200 }, [segment(0, 1_200)])
        #expect(load(items, whole, physiology(threshold: 250), .running) == nil)
        let found = load(items, whole, physiology(), .cycling)
        #expect(found?.normalizedPower == 200 && found?.intensity == nil && found?.stress == nil)
    }
}
