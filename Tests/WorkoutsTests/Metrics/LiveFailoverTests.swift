import TestSupport
import Testing

@testable import Workouts

@Suite struct LiveFailoverTests {
    private let watch = Device("watch-1")!
    private let strap = Device("strap-1")!
    private let open = [segment(0, nil)]

    private var physiology: Physiology {
        var profile = Profile()
        profile.weight = 70
        profile.sex = .female
        profile.birthYear = 1986
        var physiology = Physiology()
        physiology.zones = HeartRateZones(profile, startedAt: year2026)
        physiology.energy = EnergyEstimate(profile, activity: .running, startedAt: year2026)
        return physiology
    }

    private var rules: LiveRules { LiveRules(physiology: physiology) }

    /// Live items of up to three devices at once, in batches of two seconds, with silences.
    private func liveStreams(_ segments: [Segment], _ random: inout SeededRandom) -> [Device: [Sample]] {
        let end = segments.last!.end!.seconds(since: year2026) + 10
        var streams: [Device: [Sample]] = [:]
        for name in ["watch-1", "strap-1", "phone-1"].prefix(Int.random(in: 1...3, using: &random)) {
            let silence = Double.random(in: 0...end * 2, using: &random)
            let length = Double.random(in: 0...60, using: &random)
            let offset = Double.random(in: 0..<1, using: &random)
            let seconds = stride(from: -5.0, to: end, by: 1).filter { !(silence...silence + length).contains($0) }
            streams[Device(name)!] = seconds.map { random.sample(at: year2026 + $0 + offset) }
        }
        return streams
    }

    private func close(_ left: Double?, _ right: Double?, _ limit: Double = 0.001) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return abs(left - right) <= limit + abs(right) * 1e-9
    }

    private func expectTotals(_ live: LiveMetrics, _ segments: [Segment], _ streams: [Device: [Sample]], _ note: String)
    {
        let items = CountedItems(streams: streams, segments: segments)
        let summary = items.summary(laps: [], units: .metric, physiology: live.rules.physiology)
        #expect(close(live.distances.counted?.sum, summary.distance), "\(note) distance")
        #expect(close(live.total(.steps), summary.steps), "\(note) steps")
        #expect(close(live.average(.heartRate), summary.averageHeartRate), "\(note) average heart rate")
        #expect(close(live.maximum(.heartRate), summary.maximumHeartRate), "\(note) maximum heart rate")
        #expect(close(live.average(.cadence), summary.averageCadence), "\(note) cadence")
        #expect(close(live.average(.power), summary.averagePower), "\(note) power")
        #expect(close(live.maximum(.power), summary.maximumPower), "\(note) maximum power")
        let energy = live.energy(segments)
        let expected = streams.values.contains { !$0.isEmpty } ? summary.activeEnergy : energy?.kcal
        #expect(close(energy?.kcal, expected, energy?.source == .device ? 0.001 : 0.1), "\(note) energy")
        for (zone, seconds) in (summary.zones ?? []).enumerated() {
            #expect(close(live.zoneSeconds?[zone], seconds), "\(note) zone \(zone)")
        }
        let whole = summary.splits.count { $0.distance == 1_000 }
        if let distance = summary.distance, distance < 900_000 {
            #expect(abs(live.splitCount - whole) <= (distance.remainder(dividingBy: 1_000).magnitude < 0.01 ? 1 : 0))
        }
    }

    @Test(arguments: [false, true])
    func `live totals equal those of the summary whenever they are exact`(isWild: Bool) {
        var random = SeededRandom()
        var claimed = 0
        for round in 0..<40 {
            let segments = random.segments()
            let streams = isWild ? random.streams(around: segments) : liveStreams(segments, &random)
            var live = LiveMetrics(rules)
            var stored: [Device: [Sample]] = [:]
            var left = streams.keys.sorted()
            var turn = 0
            while !left.isEmpty {
                turn += 1
                let device = isWild ? left.randomElement(using: &random)! : left[turn % left.count]
                let done = stored[device]?.count ?? 0
                let count = isWild ? Int.random(in: 1...60, using: &random) : 2
                let items = Array(streams[device]!.dropFirst(done).prefix(count))
                stored[device, default: []] += items
                live.addItems(items, from: device, segments: segments, now: year2026 + 100_000)
                if stored[device]!.count == streams[device]!.count { left.removeAll { $0 == device } }
                if !live.isExact, Int.random(in: 0..<8, using: &random) == 0 {
                    live = LiveMetrics(
                        streams: stored, segments: segments, rules: rules,
                        now: year2026 + 100_000)
                    #expect(live.isExact)
                }
            }
            if live.isExact {
                claimed += 1
            } else {
                live = LiveMetrics(
                    streams: stored, segments: segments, rules: rules, now: year2026 + 100_000
                )
            }
            expectTotals(live, segments, streams, "seed \(random.seed), round \(round)")
        }
        #expect(claimed > 0)
    }

    @Test func `the next source takes over after 15 seconds and yields again`() {
        var live = LiveMetrics()
        live.addSample(sample(0, [.heartRate: 150]), from: strap, segments: open)
        live.addSample(sample(1, [.heartRate: 140]), from: watch, segments: open)
        #expect(live.latest(.heartRate) == 150)
        live.addSample(sample(15, [.heartRate: 141]), from: watch, segments: open)
        #expect(live.latest(.heartRate) == 150)
        live.addSample(sample(16, [.heartRate: 142]), from: watch, segments: open)
        #expect(live.latest(.heartRate) == 142)
        live.addSample(sample(17, [.heartRate: 155]), from: strap, segments: open)
        #expect(live.latest(.heartRate) == 155)
    }

    @Test func `a late hour of another device does not overwrite the latest values`() {
        var live = LiveMetrics()
        for second in 3_000..<3_100 {
            live.addSample(sample(Double(second), [.heartRate: 140, .distance: 3]), from: watch, segments: open)
        }
        let late = (0..<2_000).map { sample(Double($0), [.heartRate: 90, .distance: 2, .power: 100]) }
        live.addItems(late, from: strap, segments: open, now: year2026 + 4_000)
        #expect(live.latest(.heartRate) == 140)
        #expect(live.latest(.power) == nil)
        #expect(live.newest == year2026 + 3_099)
        #expect(!live.isExact)
    }

    @Test func `a clock that is ten minutes ahead does not expire other devices' values`() {
        let now = year2026 + 100
        for order in [[watch, strap], [strap, watch]] {
            var live = LiveMetrics()
            for second in 90..<100 {
                for device in order {
                    let ahead = device == strap ? 600.0 : 0
                    let item = sample(Double(second) + ahead, [.heartRate: device == strap ? 150 : 140, .speed: 3])
                    live.addSample(item, from: device, segments: open, now: now)
                }
            }
            #expect(live.newest == year2026 + 99)
            #expect(live.latest(.speed) == 3)
        }
        // Without other devices its clock counts.
        var live = LiveMetrics()
        for second in 700..<710 {
            live.addSample(sample(Double(second), [.speed: 3]), from: strap, segments: open, now: now)
        }
        #expect(live.newest == year2026 + 709)
    }

    @Test func `before the first item no value is known, whatever the profile`() {
        let live = LiveMetrics(rules)
        #expect(live.energy(open) == nil)
        #expect(live.energy([segment(0, 10), segment(20, nil)])?.source == .estimate)
        #expect(live.latest(.heartRate) == nil && live.zoneSeconds == nil && live.newest == nil)
    }

    @Test func `a device whose clock is ten minutes behind is not shown and does not count twice`() {
        var live = LiveMetrics()
        for second in 600..<700 {
            live.addSample(sample(Double(second), [.heartRate: 140, .distance: 3]), from: watch, segments: open)
            live.addSample(sample(Double(second) - 600, [.heartRate: 150]), from: strap, segments: open)
        }
        #expect(live.latest(.heartRate) == 140)
        #expect(live.total(.distance) == 300)
    }

    @Test func `during a pause heart rate is shown and display speed is unchanged`() {
        var live = LiveMetrics()
        let segments = [segment(0, 10)]
        for second in 0...10 {
            live.addSample(sample(Double(second), [.heartRate: 140, .speed: 3]), from: watch, segments: segments)
        }
        for second in 11...40 {
            live.addSample(sample(Double(second), [.heartRate: 100, .speed: 0]), from: watch, segments: segments)
        }
        #expect(live.latest(.heartRate) == 100)
        #expect(live.display?.speed == 3)
        #expect(live.maximum(.heartRate) == 140)
    }
}
