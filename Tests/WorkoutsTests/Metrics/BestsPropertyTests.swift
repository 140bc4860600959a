import TestSupport
import Testing

@testable import Workouts

@Suite struct BestsPropertyTests {
    @Test func `fastest times equal those of all windows`() {
        var random = SeededRandom()
        var count = 0
        for round in 0..<Tier.runs(40, nightly: 150) {
            let segments = random.segments()
            let items = random.movement(around: segments)
            let activity = [Activity.running, .swimming, .cycling].randomElement(using: &random)!
            // Metres in proportion to the speed limit.
            let scale = (activity.bestDistances?.fastest ?? 1) / 12
            let scaled = items.map { item in
                var item = item
                item[.distance] = item[.distance].map { ($0 * scale * 1_000).rounded() / 1_000 }
                return item
            }
            let found = summary(["watch": scaled], segments, activity: activity).bests?.distance ?? []
            let readings = scaled.compactMap { item -> (time: Timestamp, meters: Double)? in
                guard let time = item.time, let meters = item[.distance] else { return nil }
                return segments.contains { $0.contains(time) } ? (time, meters) : nil
            }
            let slow = SlowBests(segments)
            for length in activity.bestDistances?.lengths ?? [] {
                let expected = slow.seconds(length, readings, fastest: 12 * scale)
                let best = found.first { $0.m == length }?.s
                #expect((best == nil) == (expected == nil), "\(length) m, seed \(random.seed), round \(round)")
                guard let best, let expected else { continue }
                count += 1
                #expect(abs(best - expected) < 0.0011, "\(length) m, seed \(random.seed), round \(round)")
            }
        }
        #expect(count > 20)
    }

    @Test func `highest means equal those of all windows`() {
        var random = SeededRandom()
        var count = 0
        for round in 0..<Tier.runs(10, nightly: 40) {
            let start = year2026
            let second = start + Double(Int.random(in: 1_250...1_500, using: &random)) + 40
            let segments = [
                Segment(start: start, end: second - 40), Segment(start: second, end: second + 700),
            ]
            let items = random.movement(around: segments)
            let result = summary(["watch": items], segments, activity: .cycling).bests
            func readings(_ quantity: Quantity) -> [(time: Timestamp, value: Double)] {
                items.compactMap { item in
                    guard let time = item.time, let value = item[quantity] else { return nil }
                    return segments.contains { $0.contains(time) } ? (time, value) : nil
                }
            }
            let slow = SlowBests(segments)
            for seconds in [5.0, 60, 300, 1_200] {
                let expected = slow.mean(seconds, readings(.power), hold: 3, coverage: nil)
                let best = result?.power?.first { $0.s == seconds }?.w
                #expect((best == nil) == (expected == nil), "\(seconds) s, seed \(random.seed), round \(round)")
                guard let best, let expected else { continue }
                count += 1
                #expect(abs(best - expected) < 0.0011, "\(seconds) s, seed \(random.seed), round \(round)")
            }
            let expected = slow.mean(1_200, readings(.heartRate), hold: 15, coverage: 0.95)
            let best = result?.heartRate?.first?.bpm
            #expect((best == nil) == (expected == nil), "seed \(random.seed), round \(round)")
            if let best, let expected {
                count += 1
                #expect(abs(best - expected) < 0.0011, "seed \(random.seed), round \(round)")
            }
        }
        #expect(count > 20)
    }

    @Test(.disabled(if: Python.lacks("json"), "PYTHON names no interpreter"))
    func `bests, load and sources of several devices equal Python's`() async throws {
        var random = SeededRandom()
        var (sessions, found): ([IndependentBests.Session], [MetricsSummary]) = ([], [])
        for _ in 0..<Tier.runs(40, nightly: 150) {
            let segments = random.segments(longest: 1_500)
            let names = ["watch-3f9a", "strap-1", "phone-77", "pod"].shuffled(using: &random)
            var streams: [Device: [Sample]] = [:]
            for name in names.prefix(.random(in: 1...3, using: &random)) {
                streams[Device(name)!] = random.movement(around: segments, isWild: Bool.random(using: &random))
            }
            let activity = [Activity.running, .cycling, .swimming, .hiit].randomElement(using: &random)!
            let poolLength = activity == .swimming ? [nil, 25, 22.86, 50].randomElement(using: &random)! : nil
            var profile = Profile()
            profile.sex = [.male, .female, .other].randomElement(using: &random)
            (profile.restingHeartRate, profile.maximumHeartRate) = (50, 180)
            profile.thresholdPower = Bool.random(using: &random) ? 240 : nil
            sessions.append(
                .init(streams, segments, activity: activity, profile: profile, poolLength: poolLength))
            var physiology = Physiology()
            physiology.load = LoadBasis(profile, startedAt: nil)
            let stored = deliver(streams, &random)
            found.append(
                CountedItems(streams: stored, segments: segments).summary(
                    laps: [], units: .metric, physiology: physiology, activity: activity, poolLength: poolLength))
        }
        let results = try await IndependentBests.results(of: sessions)
        for (index, (summary, result)) in zip(found, results).enumerated() {
            #expect(result.differences(from: summary) == [], "seed \(random.seed), session \(index)")
        }
        #expect(found.contains { $0.bests?.distance != nil } && found.contains { $0.load?.stress != nil })
    }

    @Test func `any order of items gives the same bytes`() throws {
        var random = SeededRandom()
        for round in 0..<Tier.runs(10, nightly: 40) {
            let segments = random.segments(longest: 1_500)
            let streams = Dictionary(
                uniqueKeysWithValues: ["watch-1", "strap-1"].map {
                    (Device($0)!, random.movement(around: segments, isWild: true))
                })
            var profile = Profile()
            (profile.sex, profile.restingHeartRate, profile.maximumHeartRate) = (.female, 50, 180)
            profile.thresholdPower = 240
            var physiology = Physiology()
            physiology.load = LoadBasis(profile, startedAt: nil)
            for (activity, poolLength) in [(Activity.cycling, nil), (.swimming, 25.0 as Double?)] {
                let results = try (0..<3).map { _ in
                    try json(
                        CountedItems(streams: deliver(streams, &random), segments: segments).summary(
                            laps: [], units: .metric, physiology: physiology, activity: activity,
                            poolLength: poolLength))
                }
                #expect(Set(results).count == 1, "seed \(random.seed), round \(round)")
            }
        }
    }
}

extension SeededRandom {
    fileprivate mutating func segments(longest: Int) -> [Segment] {
        var time = year2026
        return (0..<Int.random(in: 1...3, using: &self)).map { _ in
            let start = time
            let end = start + Double(Int.random(in: 0...longest, using: &self))
            time = end + Double(Int.random(in: 0...120, using: &self))
            return Segment(start: start, end: end)
        }
    }

    /// Items of somebody who moves at a changing speed, in the order of time, with gaps, rests and lists of lengths.
    ///
    /// - Parameter isWild: with jumps and clocks that step backwards.
    fileprivate mutating func movement(around segments: [Segment], isWild: Bool = false) -> [Sample] {
        let end = segments.last!.end! + 30
        var time = segments[0].start - Double(Int.random(in: 0...20, using: &self))
        var items: [Sample] = []
        var (speed, power, rate) = (4.0, 200.0, 140.0)
        let step = Double([1, 1, 2, 5].randomElement(using: &self)!)
        while time < end {
            if Int.random(in: 0..<20, using: &self) == 0 {
                speed = Int.random(in: 0..<4, using: &self) == 0 ? 0 : Double.random(in: 1...11, using: &self)
                power = Int.random(in: 0..<4, using: &self) == 0 ? 0 : Double.random(in: 80...500, using: &self)
                rate = Double.random(in: 40...200, using: &self)
            }
            var item = Sample(time: time)
            if Int.random(in: 0..<10, using: &self) > 0 { item[.distance] = (speed * step * 1_000).rounded() / 1_000 }
            if isWild, Int.random(in: 0..<400, using: &self) == 0 {
                item[.distance] = Double.random(in: 100...3_000, using: &self)
            }
            if Int.random(in: 0..<10, using: &self) > 0 { item[.power] = power.rounded() }
            if Int.random(in: 0..<10, using: &self) > 0 { item[.heartRate] = rate.rounded() }
            if Int.random(in: 0..<25, using: &self) == 0 {
                item[.poolLengths] = Double(Int.random(in: 0...2, using: &self))
            }
            items.append(item)
            let odd = Int.random(in: 0..<150, using: &self)
            let gap = Double.random(in: 10...70, using: &self)
            time = time + (odd == 0 ? (gap * 1_000).rounded() / 1_000 : odd == 1 && isWild ? -3 : odd == 2 ? 0 : step)
        }
        return items
    }
}
