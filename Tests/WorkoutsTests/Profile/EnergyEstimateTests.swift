import Testing

@testable import Workouts

@Suite struct EnergyEstimateTests {
    private func profile(_ sex: Profile.Sex? = .male, weight: Double? = 70, birthYear: Int? = 1986) -> Profile {
        var profile = Profile()
        profile.sex = sex
        profile.weight = weight
        profile.birthYear = birthYear
        return profile
    }

    private func physiology(_ profile: Profile, _ activity: Activity = .running) -> Physiology {
        var physiology = Physiology()
        physiology.energy = EnergyEstimate(profile, activity: activity, startedAt: year2026)
        return physiology
    }

    private func energy(
        _ items: [Sample], seconds: Double, _ profile: Profile, _ activity: Activity = .running
    ) -> MetricsSummary {
        CountedItems(streams: [Device("watch")!: items], segments: [segment(0, seconds)]).summary(
            laps: [year2026 + seconds / 2], units: .metric, physiology: physiology(profile, activity))
    }

    private func close(_ left: Double?, _ right: Double) -> Bool { left.map { abs($0 - right) < 0.002 } ?? false }

    /// Ten minutes at one heart rate.
    private func steady(_ heartRate: Double) -> [Sample] {
        (0..<60).map { sample(Double($0) * 10, [.heartRate: heartRate]) }
    }

    @Test func `heart rate and profile give the energy of Keytel's formula without the resting part`() {
        // Men of 40 and 70 kg at 150: (−55.0969 + 94.635 + 13.916 + 8.068) / 4.184 = 14.704 kcal/min, of which 1.225 at rest.
        let man = energy(steady(150), seconds: 600, profile())
        #expect(close(man.activeEnergy, 134.791))
        #expect(man.energySource == .estimate)
        // Women: (−20.4022 + 67.08 − 8.841 + 2.96) / 4.184 = 9.751.
        let woman = energy(steady(150), seconds: 600, profile(.female))
        #expect(close(woman.activeEnergy, 85.257))
        let other = energy(steady(150), seconds: 600, profile(nil))
        #expect(close(other.activeEnergy, (134.791 + 85.257) / 2))
    }

    @Test func `a heart rate below half of the maximum gives no energy and the formula ramps in up to 60 percent`()
        throws
    {
        // The maximum is 180.
        #expect(energy(steady(90), seconds: 600, profile()).activeEnergy == 0)
        let half = try #require(energy(steady(99), seconds: 600, profile()).activeEnergy)
        // As at 57 %, which is 102.6, with half the weight: 31.617 / 4.184 − 1.225 = 6.332 kcal/min.
        #expect(close(half, 31.659))
        let full = try #require(energy(steady(108), seconds: 600, profile()).activeEnergy)
        // 35.024 / 4.184 − 1.225
        #expect(close(full, 71.46))
    }

    @Test func `without a heart rate the speed of a runner or walker counts`() {
        // 600 m in 200 s are 3 m/s: 0.2 · 180 ml/kg/min.
        let run = (1...200).map { sample(Double($0), [.distance: 3]) }
        #expect(close(energy(run, seconds: 200, profile()).activeEnergy, 36 * 70 * 5 / 1000 * 200 / 60))
        // Below 8 km/h people walk.
        let walk = (1...200).map { sample(Double($0), [.speed: 1.5]) }
        #expect(close(energy(walk, seconds: 200, profile(), .hiking).activeEnergy, 9 * 70 * 5 / 1000 * 200 / 60))
    }

    @Test func `without heart rate and speed the activity's intensity counts`() {
        let hiit = energy([sample(1, [.steps: 1])], seconds: 600, profile(), .hiit)
        #expect(close(hiit.activeEnergy, 7 * 3.5 * 70 / 200 * 10))
        let died = energy(Array(steady(150).prefix(30)), seconds: 600, profile(), .hiit)
        // The last value counts for 15 s.
        #expect(close(died.activeEnergy, 13.4791 * 305 / 60 + 7 * 3.5 * 70 / 200 * 295 / 60))
        #expect(close(died.laps.compactMap(\.activeEnergy).reduce(0, +), died.activeEnergy ?? 0))
    }

    @Test func `a device's energy takes precedence and without a weight there is no estimate`() {
        let measured = energy([sample(1, [.activeEnergy: 2])] + steady(150), seconds: 600, profile())
        #expect(measured.activeEnergy == 2)
        #expect(measured.energySource == .device)
        let unknown = energy(steady(150), seconds: 600, profile(weight: nil))
        #expect(unknown.activeEnergy == nil && unknown.energySource == nil)
    }
}
