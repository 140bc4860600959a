import TestSupport
import Testing

@testable import Workouts

/// What dashboards show besides the latest values.
@Suite struct LiveDashboardTests {
    private let watch = Device("watch-1")!
    private let strap = Device("strap-1")!
    private let open = [segment(0, nil)]

    private func snapshot(
        _ live: LiveMetrics, _ segments: [Segment]? = nil, isSilent: Bool = false
    ) -> MetricsSnapshot {
        let session = Session(
            key: SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!),
            start: SessionStart(activity: .running, countdown: 0), at: year2026, now: year2026)
        var state = session.state(revision: 1)
        state.segments = segments ?? open
        return live.snapshot(state, revision: 2, count: 0, isSilent: isSilent)
    }

    @Test func `every device has its newest item and its last battery`() {
        var live = LiveMetrics()
        live.addSample(sample(0, [.heartRate: 140, .battery: 0.8]), from: watch, segments: open)
        live.addSample(sample(40, [.heartRate: 140]), from: watch, segments: open)
        live.addSample(sample(50, [.heartRate: 150]), from: strap, segments: open)
        let expected = [
            watch: DevicePresence(newest: year2026 + 40, battery: 0.8), strap: DevicePresence(newest: year2026 + 50),
        ]
        #expect(snapshot(live).devices == expected)
        #expect(snapshot(live, isSilent: true).devices == expected)
    }

    @Test func `steps, temperature, maximum speed and averages are live`() {
        var live = LiveMetrics()
        for second in 0...100 {
            live.addSample(
                sample(Double(second), [.distance: 4, .speed: second == 50 ? 6 : 4, .steps: 3, .temperature: 21.5]),
                from: watch, segments: open)
        }
        let shown = snapshot(live)
        #expect((shown.steps, shown.temperature, shown.maximumSpeed) == (303, 21.5, 6))
        #expect(shown.averagePace == 247.525)
        #expect(snapshot(live, isSilent: true).temperature == nil)
    }

    @Test func `the average cadence leaves zeros out, and power counts them for 3 s at most`() {
        var live = LiveMetrics()
        for second in 0...10 {
            let isStill = (4...5).contains(second)
            live.addSample(
                sample(Double(second), [.cadence: isStill ? 0 : 90, .power: isStill ? 0 : 200]), from: watch,
                segments: open)
        }
        #expect(snapshot(live).averageCadence == 90)
        #expect(snapshot(live).averagePower == 160)
        // The power meter falls silent after a zero.
        live.addSample(sample(11, [.power: 0]), from: watch, segments: open)
        live.addSample(sample(21, [.heartRate: 100]), from: watch, segments: open)
        #expect(snapshot(live).averagePower == 128.571)
    }

    @Test func `moving time leaves stretches at rest out, from 5 s on`() {
        var live = LiveMetrics()
        func add(_ seconds: ClosedRange<Int>, _ speed: Double) {
            for second in seconds {
                live.addSample(sample(Double(second), [.speed: speed]), from: watch, segments: open)
            }
        }
        add(0...19, 3)
        add(20...22, 0.2)
        add(23...39, 3)
        #expect(snapshot(live).movingSeconds == 39)
        add(40...59, 0.2)
        #expect(snapshot(live).movingSeconds == 39)
        add(60...70, 3)
        #expect(snapshot(live).movingSeconds == 50)
        let again = LiveMetrics(
            streams: [
                watch: (0...70).map { second in
                    sample(Double(second), [.speed: (20...22).contains(second) || (40...59).contains(second) ? 0.2 : 3])
                }, strap: [sample(0, [.heartRate: 100])],
            ], segments: open, rules: LiveRules(), now: year2026 + 100)
        #expect(snapshot(again).movingSeconds == 50)
    }

    private var runner: LiveRules {
        var profile = Profile()
        (profile.weight, profile.sex, profile.birthYear) = (70, .male, 1986)
        var physiology = Physiology()
        physiology.energy = EnergyEstimate(profile, activity: .running, startedAt: year2026)
        return LiveRules(physiology: physiology)
    }

    @Test func `the route alone gives energy, also after a restart, and a hill costs more`() throws {
        func kcal(grade: Double?, restart: Bool = false) throws -> Double {
            var live = LiveMetrics(runner)
            for second in stride(from: 1, through: 600, by: 1) where !restart || second > 500 {
                var progress = RouteProgress(revision: Int64(second))
                progress.newest = year2026 + Double(second)
                progress.distance = 3 * Double(second)
                progress.grade = grade
                live.receive(progress, segments: open, now: year2026 + Double(second))
            }
            #expect(live.usesRoute && live.isExact)
            #expect(snapshot(live).energySource == .estimate)
            return try #require(snapshot(live).activeEnergy)
        }
        // ACSM: 0.2 ml for each metre and kilogram, 5 kcal a litre.
        let flat = try kcal(grade: nil)
        let expected = 0.2 * 1_800 * 70 * 5 / 1_000
        #expect(abs(flat - expected) < 1)
        #expect(abs(try kcal(grade: nil, restart: true) - flat) < 1)
        #expect(try kcal(grade: 0.1) > 1.3 * flat)
    }

    @Test func `after a device's energy ends, the estimate continues`() throws {
        var live = LiveMetrics(runner)
        for second in 0...1_200 {
            var item = sample(Double(second), [.distance: 3])
            if second <= 300 { item[.activeEnergy] = 0.2 }
            live.addSample(item, from: watch, segments: open)
        }
        let shown = snapshot(live)
        #expect(shown.energySource == .mixed)
        let measured = 0.2 * 301
        // ACSM, 900 seconds at 3 m/s.
        let estimated = 0.2 * 2_700 * 70 * 5 / 1_000
        #expect(abs(try #require(shown.activeEnergy) - measured - estimated) < 3)
        let again = LiveMetrics(
            streams: [
                watch: (0...1_200).map { second in
                    var item = sample(Double(second), [.distance: 3])
                    if second <= 300 { item[.activeEnergy] = 0.2 }
                    return item
                }, strap: [sample(0, [.power: 1])],
            ], segments: open, rules: runner, now: year2026 + 2_000)
        #expect(abs(try #require(snapshot(again).activeEnergy) - (shown.activeEnergy ?? 0)) < 0.01)
    }

    @Test func `a distance that starts late replaces the route's, and refolds count nothing twice`() throws {
        var live = LiveMetrics(runner)
        var items: [Sample] = []
        for second in 1...600 {
            var progress = RouteProgress(revision: Int64(second))
            progress.newest = year2026 + Double(second)
            progress.distance = 3 * Double(second)
            live.receive(progress, segments: open, now: year2026 + Double(second))
            items.append(sample(Double(second), second > 300 ? [.distance: 3] : [.heartRate: 60]))
            live.addSample(items[second - 1], from: watch, segments: open, now: year2026 + Double(second))
        }
        #expect(!live.isExact && !live.usesRoute)
        let again = LiveMetrics(
            streams: [watch: items], segments: open, rules: runner, now: year2026 + 600, shown: live)
        #expect(again.isExact)
        let expected = CountedItems(streams: [watch: items], segments: [segment(0, 600)]).summary(
            laps: [], units: .metric, physiology: runner.physiology, activity: .running)
        #expect(abs(try #require(snapshot(again).activeEnergy) - (expected.activeEnergy ?? 0)) < 0.01)
    }

    @Test func `a clock that was an hour ahead leaves nothing behind`() {
        let now = year2026 + 100
        var live = LiveMetrics()
        for second in 3_600..<3_610 {
            live.addSample(
                sample(Double(second), [.speed: 3, .distance: 3, .heartRate: 190]), from: watch, segments: open,
                now: now)
        }
        let items = (10...60).map { sample(Double($0), [.speed: 4, .distance: 4, .heartRate: 120]) }
        var again = live
        again.addItems(items, from: watch, segments: open, now: now)
        #expect(snapshot(again).displayPace == 250)
        #expect(snapshot(again).heartRate == 120)
        #expect(snapshot(again).newest == year2026 + 60)
        #expect(!again.isExact)
        let ahead = (3_600..<3_610).map { sample(Double($0), [.speed: 3, .distance: 3, .heartRate: 190]) }
        var folded = LiveMetrics(
            streams: [watch: ahead + items], segments: open, rules: LiveRules(), now: now, shown: live)
        #expect(snapshot(folded).newest == year2026 + 60)
        #expect(snapshot(folded).heartRate == 120)
        #expect(snapshot(folded).distance == 204)
        folded.addSample(sample(61, [.speed: 4, .distance: 4]), from: watch, segments: open, now: now)
        #expect(snapshot(folded).displayPace == 250)
        #expect(folded.isExact)
    }

    @Test func `a route of a clock that is ahead does not expire the samples`() {
        let now = year2026 + 100
        var live = LiveMetrics()
        live.addSample(sample(90, [.heartRate: 140]), from: watch, segments: open, now: now)
        var progress = RouteProgress(revision: 1)
        progress.newest = year2026 + 3_700
        progress.distance = 300
        live.receive(progress, segments: open, now: now)
        #expect(live.newest == year2026 + 90)
        #expect(snapshot(live).heartRate == 140)
    }
}
