import TestSupport
import Testing

@testable import Workouts

@Suite struct LiveMetricsTests {
    private func close(_ left: Double?, _ right: Double?, within limit: Double = 1e-6) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return abs(left - right) <= limit
    }

    @Test func `the fold over one device in order equals the summary`() {
        var random = SeededRandom()
        let device = Device("watch-1")!
        for _ in 0..<60 {
            let segments = random.segments()
            var stream = random.samples(around: segments).filter { $0.time != nil }.sorted { $0.time! < $1.time! }
            stream.removeAll { $0.time! >= segments.last!.end! }
            // The summary extends the last value to the end. A reading at the end leaves nothing to extend.
            var last = Sample(time: segments.last!.end!)
            for quantity in Quantity.allCases { last[quantity] = quantity.isDelta ? 1 : quantity.range.upperBound }
            stream.append(last)
            var live = LiveMetrics()
            for sample in stream { live.addSample(sample, from: device, segments: segments) }
            let items = CountedItems(streams: [device: stream], segments: segments)
            for quantity in [Quantity.distance, .activeEnergy, .steps] {
                #expect(close(live.total(quantity), items.cumulative(quantity)?.total))
            }
            for quantity in [Quantity.heartRate, .speed, .cadence, .power] {
                let values = items.values(quantity).statistics().whole
                #expect(close(live.average(quantity), values.average))
                #expect(close(live.maximum(quantity), values.maximum))
            }
        }
    }

    @Test func `a value is unknown when it is 15 seconds older than the newest item`() {
        var live = LiveMetrics()
        let segments = [segment(0, nil)]
        live.addSample(sample(0, [.heartRate: 120]), from: Device("strap")!, segments: segments)
        live.addSample(sample(15, [.power: 200]), from: Device("watch")!, segments: segments)
        #expect(live.latest(.heartRate) == 120)
        live.addSample(sample(16, [.power: 200]), from: Device("watch")!, segments: segments)
        #expect(live.latest(.heartRate) == nil)
        #expect(live.latest(.power) == 200)
        #expect(live.maximum(.heartRate) == 120)
    }

    @Test func `two devices beside each other are not added up`() {
        var live = LiveMetrics()
        for second in 1...30 {
            for name in ["watch-1", "phone-1"] {
                live.addSample(sample(Double(second), [.distance: 3]), from: Device(name)!, segments: [segment(0, nil)])
            }
        }
        #expect(live.total(.distance) == 90)
    }

    @Test func `pace needs a distance and a speed, and has a limit`() throws {
        let session = Session(
            key: SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!),
            start: SessionStart(activity: .running, countdown: 0), at: year2026, now: year2026)
        func snapshot(_ seconds: Int, speed: Double?, meters: Double, isSilent: Bool = false) -> MetricsSnapshot {
            var live = LiveMetrics()
            for second in 1...seconds {
                var item = sample(Double(second), [.distance: meters])
                item[.speed] = speed
                live.addSample(item, from: Device("watch")!, segments: session.segments)
            }
            return live.snapshot(session.state(revision: 1), revision: 2, count: seconds, isSilent: isSilent)
        }
        #expect(snapshot(60, speed: 4, meters: 3).pace == 250)
        #expect(snapshot(60, speed: nil, meters: 2).pace == 500)
        #expect(snapshot(60, speed: nil, meters: 2).speed == 2)
        #expect(snapshot(10, speed: 4, meters: 3).pace == nil)
        #expect(snapshot(200, speed: 0.5, meters: 0.5).pace == nil)
        let silent = snapshot(60, speed: 4, meters: 3, isSilent: true)
        #expect(silent.pace == nil && silent.speed == nil && silent.displaySpeed == nil)
        #expect(silent.distance == 180)
        #expect(silent.activeSeconds == 60)
    }

    @Test func `displayed speed changes every five seconds`() {
        var live = LiveMetrics()
        let session = Session(
            key: SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!),
            start: SessionStart(activity: .running, countdown: 0), at: year2026, now: year2026)
        let shown = (0...10).map { second in
            live.addSample(
                sample(Double(second), [.speed: Double(second)]), from: Device("pod")!, segments: session.segments)
            return live.snapshot(session.state(revision: 1), revision: 2, count: 1, isSilent: false).displaySpeed
        }
        #expect(shown == [0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 10])
    }
}
