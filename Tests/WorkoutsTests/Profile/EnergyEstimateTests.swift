import TestSupport
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

    @Test func `a low heart rate leaves the energy to speed and intensity`() {
        // The maximum is 180. At half of it the formula's weight is 0, at 55 % a half, from 60 % on 1.
        let rest = 7.0 * 3.5 * 70 / 200
        #expect(close(energy(steady(90), seconds: 600, profile()).activeEnergy, rest * 10))
        // (−55.0969 + 62.4591 + 13.916 + 8.068) / 4.184 − 1.225 = 5.78914 kcal/min
        let half = energy(steady(99), seconds: 600, profile()).activeEnergy
        #expect(close(half, (5.78914 + rest) / 2 * 10))
        // (−55.0969 + 68.1372 + 13.916 + 8.068) / 4.184 − 1.225 = 7.14617
        #expect(close(energy(steady(108), seconds: 600, profile()).activeEnergy, 71.4617))
    }

    @Test func `an hour's walk with a strap at 88 gives as much as one without`() throws {
        let walk = { (values: [Quantity: Double]) in (1...3_600).map { sample(Double($0), values) } }
        let speed = 5 / 3.6
        let without = energy(walk([.distance: speed]), seconds: 3_600, profile(), .walking)
        let strap = energy(walk([.distance: speed, .heartRate: 88]), seconds: 3_600, profile(), .walking)
        #expect(close(without.activeEnergy, 175))
        #expect(strap.activeEnergy == without.activeEnergy)
    }

    @Test func `without a heart rate the speed of a runner or walker counts`() {
        // 600 m in 200 s are 3 m/s: 0.2 · 180 ml/kg/min.
        let run = (1...200).map { sample(Double($0), [.distance: 3]) }
        #expect(close(energy(run, seconds: 200, profile()).activeEnergy, 36 * 70 * 5 / 1000 * 200 / 60))
        // Below 8 km/h people walk.
        let walk = (0...200).map { sample(Double($0), [.speed: 1.5]) }
        #expect(close(energy(walk, seconds: 200, profile(), .hiking).activeEnergy, 9 * 70 * 5 / 1000 * 200 / 60))
    }

    @Test(arguments: [(Activity.walking, 8.0), (.hiking, 8), (.walking, 10), (.running, 5), (.running, 3)])
    func `the rate is continuous where the formula changes`(activity: Activity, speed: Double) throws {
        let estimate = try #require(EnergyEstimate(profile(), activity: activity, startedAt: year2026))
        for grade in [-0.2, -0.05, 0, 0.1] {
            let rates = [speed - 0.1, speed + 0.1].map { estimate.rate(speed: $0 / 3.6, grade: grade) }
            #expect(rates[0] <= rates[1] && rates[1] < rates[0] * 1.2)
        }
    }

    @Test func `a lump of distance every five seconds costs as much as a steady distance`() throws {
        let steady = (1...600).map { sample(Double($0), [.distance: 2]) }
        let lumps = (1...600).map { sample(Double($0), [.distance: $0 % 5 == 0 ? 10 : 0]) }
        let results = [steady, lumps].map { energy($0, seconds: 600, profile(), .walking).activeEnergy }
        #expect(results[0] == results[1])
    }

    @Test func `grade comes from the smoothed altitude`() throws {
        let flat = (0...1_000).map { sample(Double($0), [.distance: $0 == 0 ? 0 : 1.4, .barometricAltitude: 500]) }
        let uphill = flat.enumerated().map { second, item in
            var item = item
            item[.barometricAltitude] = 500 + 0.14 * Double(second)
            return item
        }
        let level = try #require(energy(flat, seconds: 1_000, profile(), .walking).activeEnergy)
        let climb = energy(uphill, seconds: 1_000, profile(), .walking)
        // 0.1 + 1.8 · 0.1 instead of 0.1 ml/kg for each metre, but for the delay of smoothing.
        #expect(abs(try #require(climb.activeEnergy) / level - 2.8) < 0.03)
        let downhill = uphill.map { item in
            var item = item
            item[.barometricAltitude] = item[.barometricAltitude].map { 1_000 - $0 }
            return item
        }
        #expect(
            abs(try #require(energy(downhill, seconds: 1_000, profile(), .walking).activeEnergy) / level - 0.5) < 0.01)
    }

    @Test func `without heart rate and speed the activity's intensity counts`() {
        let hiit = energy([sample(1, [.steps: 1])], seconds: 600, profile(), .hiit)
        #expect(close(hiit.activeEnergy, 7 * 3.5 * 70 / 200 * 10))
        let died = energy(Array(steady(150).prefix(30)), seconds: 600, profile(), .hiit)
        // The last value counts for 15 s.
        #expect(close(died.activeEnergy, 13.4791 * 305 / 60 + 7 * 3.5 * 70 / 200 * 295 / 60))
        #expect(close(died.laps.compactMap(\.activeEnergy).reduce(0, +), died.activeEnergy ?? 0))
    }

    @Test func `a lap's energy follows the lap's own speed`() throws {
        let items = (1...1_200).map { sample(Double($0), [.distance: $0 <= 600 ? 1 : 4]) }
        let result = energy(items, seconds: 1_200, profile())
        let laps = result.laps.compactMap(\.activeEnergy)
        // Walking slowly at 3.6 km/h, then running.
        #expect(abs(laps[1] - 0.2 * 240 * 70 * 5 / 1000 * 10) < 0.5)
        #expect(laps[0] < laps[1] / 4)
        #expect(close(laps[0] + laps[1], try #require(result.activeEnergy)))
    }

    @Test func `a device that stops measuring energy leaves the rest to the estimate`() throws {
        let items = (1...3_600).map { second in
            sample(Double(second), second <= 300 ? [.distance: 3, .activeEnergy: 0.2] : [.distance: 3])
        }
        let result = energy(items, seconds: 3_600, profile())
        let rate = 36.0 * 70 * 5 / 1000 / 60
        #expect(abs(try #require(result.activeEnergy) - (60 + 3_300 * rate)) < 0.01)
        #expect(result.energySource == .mixed)
        let laps = result.laps.compactMap(\.activeEnergy)
        #expect(abs(laps[0] - (60 + 1_500 * rate)) < 0.01)
    }

    @Test func `readings up to five minutes apart cover the time between them`() throws {
        for (gap, source) in [(300.0, EnergySource.device), (310, .mixed)] {
            let times = stride(from: 0, through: 3 * gap, by: gap)
            let items = times.map { sample($0, [.activeEnergy: $0 == 0 ? 0 : 100]) }
            let result = energy(items, seconds: 3 * gap, profile(), .hiit)
            #expect(result.energySource == source)
            // Of a reading after a longer gap the part counts that exceeds the estimate.
            #expect(close(result.activeEnergy, 300))
        }
    }

    @Test func `a device's energy counts in full and without a weight there is no estimate`() {
        let items = (0..<60).map { sample(Double($0) * 10, [.heartRate: 150, .activeEnergy: 2]) }
        let measured = energy(items, seconds: 600, profile())
        #expect(measured.activeEnergy == 120)
        #expect(measured.energySource == .device)
        let unknown = energy(steady(150), seconds: 600, profile(weight: nil))
        #expect(unknown.activeEnergy == nil && unknown.energySource == nil)
        let alone = energy([sample(1, [.activeEnergy: 2])], seconds: 600, profile(weight: nil))
        #expect(alone.activeEnergy == 2 && alone.energySource == .device)
    }

    @Test func `a session of many years needs little memory`() throws {
        let years = 8e8
        let items = [sample(0, [.distance: 1]), sample(years, [.distance: 10_000, .heartRate: 100])]
        let result = energy(items, seconds: years, profile())
        #expect(try #require(result.activeEnergy).isFinite)
    }
}

/// The fold that live metrics use, beside that of the summary.
@Suite struct EnergyFoldTests {
    private enum Event {
        case heartRate(Double, Int64, Int64)
        case meters(Double, Int64, Int64)
        case climb(Double, Int64, Int64)
        case measured(Double, Int64)

        var time: Int64 {
            switch self {
            case .heartRate(_, _, let end), .meters(_, _, let end), .climb(_, _, let end), .measured(_, let end): end
            }
        }
    }

    private func add(_ event: Event, to fold: inout EnergyFold) {
        switch event {
        case .heartRate(let value, let start, let end): fold.addHeartRate(value, from: start, to: end)
        case .meters(let value, let start, let end): fold.addMeters(value, from: start, to: end)
        case .climb(let value, let start, let end): fold.addClimb(value, from: start, to: end)
        case .measured(let value, let end): fold.addMeasuredEnergy(value, at: end)
        }
    }

    @Test func `settling and the order of quantities change nothing`() throws {
        var random = SeededRandom()
        var profile = Profile()
        (profile.weight, profile.birthYear) = (70, 1986)
        let estimate = try #require(EnergyEstimate(profile, activity: .running, startedAt: year2026))
        var settled = 0
        for round in 0..<50 {
            var events: [Event] = []
            var (heart, way, hill, device) = (Int64(0), Int64(0), Int64(0), Int64(0))
            let length: Int64 = 3_600_000_000
            func step(_ seconds: ClosedRange<Double>) -> Int64 {
                Int64(Double.random(in: seconds, using: &random) * 1e6)
            }
            while heart < length {
                let end = heart + step(1...20)
                events.append(.heartRate(.random(in: 80...180, using: &random), heart, min(end, heart + 15_000_000)))
                heart = end
            }
            while way < length {
                let end = way + step(1...60)
                events.append(.meters(.random(in: 0...300, using: &random), way, end))
                way = end
            }
            while hill < length {
                let end = hill + step(1...10)
                events.append(.climb(.random(in: -5...5, using: &random), hill, end))
                hill = end
            }
            if round % 3 > 0 {
                while device < length {
                    device += step(round % 3 == 1 ? 1...100 : 1...400)
                    events.append(.measured(.random(in: 0...20, using: &random), device))
                }
            }
            var whole = EnergyFold(estimate)
            for event in events { add(event, to: &whole) }
            var live = EnergyFold(estimate)
            for event in events.sorted(by: { $0.time < $1.time }) {
                add(event, to: &live)
                live.settle(before: event.time - 60_000_000)
            }
            guard live.isExact else { continue }
            settled += 1
            let (first, second) = (try #require(whole.total(at: length)), try #require(live.total(at: length)))
            #expect(abs(first.kcal - second.kcal) < 1e-6, "seed \(random.seed), round \(round)")
            #expect(first.source == second.source)
            let parts = whole.estimates(between: [0, length / 3, length / 2, length], end: length)
            #expect(abs(parts.reduce(0, +) - whole.estimates(between: [0, length], end: length)[0]) < 1e-6)
        }
        #expect(settled > 20)
    }
}
