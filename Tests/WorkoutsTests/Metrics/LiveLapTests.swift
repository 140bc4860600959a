import TestSupport
import Testing

@testable import Workouts

/// Laps, splits and distances without a distance sensor, while they happen.
@Suite struct LiveLapTests {
    private let watch = Device("watch-1")!
    private let strap = Device("strap-1")!
    private let now = year2026 + 100_000

    private func state(_ segments: [Segment], laps: [Double] = [], _ activity: Activity = .running) -> SessionState {
        let session = Session(
            key: SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!),
            start: SessionStart(activity: activity, countdown: 0), at: year2026, now: year2026)
        var state = session.state(revision: 1)
        state.segments = segments
        state.laps = laps.map { year2026 + $0 }
        return state
    }

    private func snapshot(_ live: LiveMetrics, _ state: SessionState) -> MetricsSnapshot {
        live.snapshot(state, revision: 2, count: 0, isSilent: false)
    }

    private func close(_ left: Double?, _ right: Double?, _ limit: Double) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return abs(left - right) <= limit
    }

    @Test func `a lap in progress has its own time and distance, pauses left out`() {
        let segments = [segment(0, 60), segment(100, nil)]
        let state = state(segments, laps: [30.5])
        var live = LiveMetrics()
        for second in 0...60 { live.addSample(sample(Double(second), [.distance: 3]), from: watch, segments: segments) }
        #expect(snapshot(live, self.state(segments)).lapSeconds == 60)
        #expect(snapshot(live, self.state(segments)).lapDistance == 183)
        // The lap's state arrived before its items.
        live = LiveMetrics()
        for second in 0...30 { live.addSample(sample(Double(second), [.distance: 3]), from: watch, segments: segments) }
        let isFollowing = live.follow(laps: state.laps)
        #expect(isFollowing)
        #expect(snapshot(live, state).lapDistance == 0)
        for second in 31...60 {
            live.addSample(sample(Double(second), [.distance: 3]), from: watch, segments: segments)
        }
        for second in 100...110 {
            live.addSample(sample(Double(second), [.distance: 3]), from: watch, segments: segments)
        }
        #expect(snapshot(live, state).lapDistance == 30 * 3 - 1.5 + 33)
        #expect(snapshot(live, state).lapSeconds == 29.5 + 10)
        #expect(live.lap(1, of: state)?.duration == 30.5)
        #expect(live.lap(1, of: state)?.distance == 94.5)
        // A lap before the newest items needs a fold.
        let isFollowingLate = live.follow(laps: state.laps + [year2026 + 105])
        #expect(!isFollowingLate)
    }

    @Test func `splits along the route follow a change of units`() {
        let open = [segment(0, nil)]
        func progress(_ second: Int) -> RouteProgress {
            var progress = RouteProgress(revision: Int64(second))
            progress.newest = year2026 + Double(second)
            progress.distance = 3 * Double(second)
            return progress
        }
        var live = LiveMetrics()
        for second in 1...1_000 { live.receive(progress(second), segments: open) }
        #expect(live.splitCount == 3)
        let imperial = LiveRules(units: .imperial)
        var other = LiveMetrics(streams: [Device: [Sample]](), segments: open, rules: imperial, now: now, shown: live)
        #expect(other.splitCount == 1 && other.split == nil)
        for second in 1_001...1_100 { other.receive(progress(second), segments: open) }
        #expect(other.splitCount == 2 && other.split?.number == 2)
    }

    @Test func `laps of the running fold equal those of the summary`() {
        var random = SeededRandom()
        var compared = 0
        for round in 0..<60 {
            let segments = random.segments()
            let ends = segments.flatMap { segment in
                (0..<Int.random(in: 0...2, using: &random)).map { _ in
                    segment.start + Double.random(in: 0...segment.end!.seconds(since: segment.start), using: &random)
                }
            }.sorted()
            var state = state(segments)
            state.laps = ends
            // With a heart rate in each item, whose average is exact.
            let stream = stride(from: 0, through: segments.last!.end!.seconds(since: year2026), by: 1).map { second in
                sample(
                    second,
                    [.heartRate: .random(in: 80...180, using: &random), .distance: .random(in: 0...5, using: &random)]
                )
            }
            let isSecond = Bool.random(using: &random)
            var streams = [watch: stream]
            if isSecond { streams[strap] = stream.map { sample($0.time!.seconds(since: year2026), [.power: 100]) } }
            var live = LiveMetrics(laps: Array(ends.prefix(ends.count / 2)))
            var isFollowing = true
            for (index, item) in stream.enumerated() {
                while live.lapEnds.count < ends.count, item.time! > ends[live.lapEnds.count] {
                    isFollowing = live.follow(laps: Array(ends.prefix(live.lapEnds.count + 1))) && isFollowing
                }
                live.addSample(item, from: watch, segments: segments)
                if isSecond { live.addSample(streams[strap]![index], from: strap, segments: segments) }
            }
            if !live.follow(laps: ends) || Bool.random(using: &random) || !live.isExact {
                live = LiveMetrics(streams: streams, segments: segments, rules: LiveRules(), laps: ends, now: now)
            }
            #expect(isFollowing)
            let summary = CountedItems(streams: streams, segments: segments).summary(laps: ends, units: .metric)
            for (index, lap) in summary.laps.enumerated().prefix(ends.count) {
                let note = "seed \(random.seed), round \(round), lap \(index + 1)"
                let found = live.lap(index + 1, of: state)
                #expect(close(found?.duration, lap.duration, 0.001), "\(note)")
                #expect(close(found?.distance, lap.distance, 0.001), "\(note) distance")
                if lap.duration > 30 { #expect(close(found?.averageHeartRate, lap.averageHeartRate, 0.001), "\(note)") }
                compared += 1
            }
        }
        #expect(compared > 20)
    }

    @Test func `splits of the running fold equal those of the summary`() {
        var random = SeededRandom()
        for round in 0..<20 {
            let segments = random.segments()
            let end = segments.last!.end!.seconds(since: year2026)
            let stream = stride(from: 0, through: end, by: 1).map { second in
                sample(second, [.heartRate: 150, .distance: .random(in: 0...12, using: &random)])
            }
            let summary = CountedItems(streams: [watch: stream], segments: segments).summary(laps: [], units: .metric)
            var live = LiveMetrics()
            for item in stream { live.addSample(item, from: watch, segments: segments) }
            let again = LiveMetrics(
                streams: [watch: stream, strap: [sample(0, [.power: 1])]], segments: segments, rules: LiveRules(),
                now: now)
            let last = summary.splits.last { $0.distance == 1_000 }
            for live in [live, again] {
                let note = "seed \(random.seed), round \(round)"
                #expect(close(live.split?.duration, last?.duration, 0.002), "\(note)")
                #expect(live.split?.pace == live.split?.duration)
                #expect(close(live.split?.averageHeartRate, last?.averageHeartRate, 0.001), "\(note)")
            }
        }
    }

    @Test func `a treadmill's speed gives distance, at most 3 s a sample, and a sensor wins`() {
        let open = [segment(0, nil)]
        var live = LiveMetrics()
        for second in [0, 1, 2, 3, 10, 11] {
            live.addSample(sample(Double(second), [.speed: 2]), from: watch, segments: open)
        }
        #expect(snapshot(live, state(open)).distance == 14.0)
        live.addSample(sample(12, [.speed: 2, .distance: 40]), from: watch, segments: open)
        #expect(snapshot(live, state(open)).distance == 40)
    }

    @Test func `pool lengths give the distance, and swimming has a pace for 100 m`() {
        let open = [segment(0, nil)]
        var live = LiveMetrics(LiveRules(activity: .swimming, poolLength: 25))
        for length in 1...4 {
            live.addSample(sample(Double(length) * 60, [.poolLengths: 1]), from: watch, segments: open)
        }
        let shown = snapshot(live, state(open, .swimming))
        #expect(shown.distance == 100)
        // 4 minutes for 100 m.
        #expect(shown.averagePace == 2_400)
        #expect(shown.pace == 2_400)
    }

    @Test(arguments: [(Activity.running, 1_800.0 as Double?), (.swimming, 6_000), (.cycling, nil)])
    func `slow paces are not shown, and some activities show their speed`(activity: Activity, limit: Double?) {
        let rules = LiveRules(activity: activity)
        #expect(rules.pace(metres: 100, speed: 1000 / (limit ?? 300)) == limit)
        #expect(rules.pace(metres: 100, speed: 1000 / (limit ?? 300) * 0.999) == nil)
        #expect(rules.pace(metres: 49, speed: 3) == nil)
    }
}
