import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// Several devices, late items and kilometres, through the service's loop.
struct LiveSourcesTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_100))
    private var script = Script()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func items(_ range: Range<Int>, _ values: [Quantity: Double]) -> [Sample] {
        range.map { number in
            var sample = Sample(time: Timestamp(seconds: 1_700_000_000 + Double(number)))
            for (quantity, value) in values { sample[quantity] = value }
            return sample
        }
    }

    private func snapshot(_ sent: [MQTTMessage]) throws -> MetricsSnapshot? {
        try sent.payloads(.session(script.key, .metrics)).last.map { try MetricsSnapshot($0) }
    }

    private func announced(_ sent: [MQTTMessage]) throws -> [Announcement] {
        try sent.payloads(.session(script.key, .announcements)).map {
            try JSONCoding.decode(Announcement.self, from: $0)
        }
    }

    @Test mutating func `late items count after a delay and overwrite nothing`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        let watch = items(0..<20, [.heartRate: 140, .distance: 3]) + items(60..<100, [.heartRate: 145, .distance: 3])
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, watch)])
        try await aggregator.tick()
        clock.advance(by: .seconds(1))
        let phone = items(0..<100, [.heartRate: 90, .distance: 2])
        try await aggregator.deliver([script.batch("phone-1", 0, Array(phone[0..<50]))])
        let early = try #require(try snapshot(try await aggregator.tick()))
        #expect(early.heartRate == 145)
        clock.advance(by: .seconds(1))
        try await aggregator.deliver([script.batch("phone-1", 50, Array(phone[50..<100]))])
        // Too early for the next fold.
        try await aggregator.tick()
        clock.advance(by: .seconds(10))
        let late = try #require(try snapshot(try await aggregator.tick()))
        let closed = [Segment(start: script.state.segments[0].start, end: Timestamp(seconds: 1_700_000_099))]
        let expected = CountedItems(
            streams: [Device("watch-1")!: watch, Device("phone-1")!: phone], segments: closed
        ).summary(laps: [], units: .metric)
        #expect(late.distance == expected.distance)
        #expect(late.averageHeartRate == expected.averageHeartRate)
        #expect(late.heartRate == 145)
    }

    @Test mutating func `zones and estimated energy are in metrics and summary`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        var profile = Profile()
        profile.maximumHeartRate = 200
        profile.weight = 70
        profile.birthYear = 1983
        profile.sex = .male
        profile.restingHeartRate = 60
        try await aggregator.deliver([
            script.setProfile(profile), script.stateMessage,
            script.batch("watch-1", 0, items(0..<61, [.heartRate: 150])),
        ])
        let live = try #require(try snapshot(try await aggregator.tick()))
        #expect(live.zones == [0, 0, 60, 0, 0])
        #expect(live.energySource == .estimate)
        let kcal = try #require(live.activeEnergy)
        #expect(abs(kcal - 13.479) < 0.1)
        let end = Timestamp(seconds: 1_700_000_060)
        try await aggregator.deliver([
            script.change(.saving, [Segment(start: script.state.segments[0].start, end: end)])
        ])
        let sent = try await aggregator.tick()
        let report = try JSONCoding.decode(
            MetricsReport.self, from: try #require(sent.payloads(.session(script.key, .summaryMetrics)).last))
        #expect(report.totals.zones == [0, 0, 60, 0, 0])
        #expect(report.totals.activeEnergy == kcal)
        #expect(report.totals.energySource == .estimate)
        // A minute at 9/14 of the reserve.
        #expect(report.totals.load?.heartRate == 1.414)
        #expect(report.totals.sources?.map(\.quantity) == ["heart_rate"])
        #expect(report.totals.sources?.first?.to == 60)
    }

    @Test mutating func `a kilometre is announced once, even over a restart, and never when old`() async throws {
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        _ = try await aggregator?.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<99, [.distance: 10])),
        ])
        #expect(try announced(try await aggregator?.tick() ?? []).isEmpty)
        _ = try await aggregator?.deliver([script.batch("watch-1", 99, items(99..<110, [.distance: 10]))])
        let crossed = try announced(try await aggregator?.tick() ?? [])
        var expected = Announcement(.split, at: Timestamp(seconds: 1_700_000_099), number: 1)
        expected.unit = .kilometer
        (expected.duration, expected.pace) = (99, 99)
        #expect(crossed == [expected])
        #expect(try announced(try await aggregator?.tick() ?? []).isEmpty)
        aggregator = nil
        var again = try await Aggregator(folder, clock: clock)
        try await again.deliver([script.stateMessage, script.batch("watch-1", 110, items(110..<120, [.distance: 10]))])
        #expect(try announced(try await again.tick()).isEmpty)
        // Late items of another device require another fold.
        try await again.deliver([script.batch("watch-2", 0, items(0..<5, [.distance: 10]))])
        clock.advance(by: .seconds(20))
        #expect(try announced(try await again.tick()).isEmpty)
        // Half an hour later offline items arrive, and their kilometres are too old.
        clock.advance(by: .seconds(1_800))
        try await again.deliver([script.batch("watch-1", 120, items(120..<320, [.distance: 10]))])
        #expect(try announced(try await again.tick()).isEmpty)
        let second = Int(clock.now.seconds) - 1_700_000_000
        try await again.deliver([script.batch("watch-1", 320, items(second - 100..<second, [.distance: 10]))])
        #expect(try announced(try await again.tick()).map(\.number) == [4])
    }

    @Test mutating func `a lap is announced once its items are there, and not again after a restart`() async throws {
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        let start = script.state.segments[0].start
        _ = try await aggregator?.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<90, [.distance: 3, .heartRate: 150])),
        ])
        _ = try await aggregator?.tick()
        script.state.laps = [start + 95]
        _ = try await aggregator?.deliver([script.change(.active, script.state.segments)])
        #expect(try announced(try await aggregator?.tick() ?? []).isEmpty)
        _ = try await aggregator?.deliver([
            script.batch("watch-1", 90, items(90..<98, [.distance: 3, .heartRate: 150]))
        ])
        var expected = Announcement(.lap, at: start + 95, number: 1)
        (expected.duration, expected.distance, expected.averageHeartRate) = (95, 288, 150)
        expected.pace = 329.861
        #expect(try announced(try await aggregator?.tick() ?? []) == [expected])
        #expect(try announced(try await aggregator?.tick() ?? []).isEmpty)
        aggregator = nil
        var again = try await Aggregator(folder, clock: clock)
        try await again.deliver([script.stateMessage, script.change(.active, script.state.segments)])
        clock.advance(by: .seconds(5))
        #expect(try announced(try await again.tick()).isEmpty)
        // No items: 3 s later, without what they would tell.
        script.state.laps.append(start + 100)
        try await again.deliver([script.change(.active, script.state.segments)])
        #expect(try announced(try await again.tick()).isEmpty)
        clock.advance(by: .seconds(3))
        let second = try announced(try await again.tick())
        #expect(second.map(\.number) == [2])
        #expect((second[0].duration, second[0].distance) == (5, 6))
        // An hour late.
        clock.advance(by: .seconds(3_600))
        script.state.laps.append(start + 110)
        try await again.deliver([script.change(.active, script.state.segments)])
        clock.advance(by: .seconds(5))
        #expect(try announced(try await again.tick()).isEmpty)
    }

    @Test(arguments: [180.0, -3_600])
    mutating func `splits and laps of a device whose clock is off are announced`(ahead: Double) async throws {
        script = Script(start: 1_700_000_000 + min(0, ahead))
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage])
        func item(_ metres: Double) -> Sample {
            var sample = Sample(time: clock.now + ahead)
            sample[.distance] = metres
            return sample
        }
        for number in 0..<20 {
            try await aggregator.deliver([script.batch("watch-1", number, [item(number == 0 ? 800 : 10)])])
            #expect(try announced(try await aggregator.tick()).isEmpty)
            clock.advance(by: .seconds(1))
        }
        try await aggregator.deliver([script.batch("watch-1", 20, [item(10)])])
        let split = try #require(try announced(try await aggregator.tick()).first)
        #expect(split.kind == .split && split.number == 1 && split.at == clock.now + ahead)
        script.state.laps = [clock.now + ahead]
        try await aggregator.deliver([script.change(.active, script.state.segments)])
        clock.advance(by: .seconds(3))
        #expect(try announced(try await aggregator.tick()).map(\.kind) == [.lap])
        // The engine knows of another device. Its old lap is not new.
        script.state.clockSkew = [Device("phone-1")!: -600]
        script.state.laps += [clock.now - 600, clock.now - 1_000].sorted()
        try await aggregator.deliver([script.change(.active, script.state.segments)])
        clock.advance(by: .seconds(3))
        #expect(try announced(try await aggregator.tick()).count == 1)
    }

    @Test mutating func `a lap before the newest items is announced with the values of its items`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        let start = script.state.segments[0].start
        try await aggregator.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<100, [.distance: 3, .heartRate: 150])),
        ])
        try await aggregator.tick()
        script.state.laps = [start + 50]
        try await aggregator.deliver([script.change(.active, script.state.segments)])
        clock.advance(by: .seconds(3))
        let laps = try announced(try await aggregator.tick())
        #expect(laps.map(\.distance) == [153])
    }

    @Test mutating func `two laps at once are both announced, also one before the other's mark`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        let start = script.state.segments[0].start
        try await aggregator.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<100, [.distance: 3, .heartRate: 150])),
        ])
        try await aggregator.tick()
        script.state.laps = [start + 80]
        try await aggregator.deliver([script.change(.active, script.state.segments)])
        script.state.laps = [start + 60, start + 80]
        try await aggregator.deliver([script.change(.active, script.state.segments)])
        clock.advance(by: .seconds(3))
        let laps = try announced(try await aggregator.tick())
        #expect(laps.map(\.number).sorted { $0 ?? 0 < $1 ?? 0 } == [1, 2])
        #expect(try announced(try await aggregator.tick()).isEmpty)
    }

    @Test mutating func `a change of units announces miles from then on`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<100, [.distance: 30])),
        ])
        #expect(try announced(try await aggregator.tick()).map(\.number) == [3])
        script.state.units = .imperial
        try await aggregator.deliver([script.change(.active, script.state.segments)])
        clock.advance(by: .seconds(20))
        #expect(try announced(try await aggregator.tick()).isEmpty)
        let second = Int(clock.now.seconds) - 1_700_000_000
        try await aggregator.deliver([script.batch("watch-1", 100, items(second - 15..<second, [.distance: 30]))])
        let miles = try announced(try await aggregator.tick())
        #expect(miles.map(\.number) == [2] && miles.map(\.unit) == [.mile])
    }

    @Test mutating func `a change of units during a long fold announces miles from then on`() async throws {
        var bounds = StreamBounds()
        bounds.manyItems = 50
        var aggregator = try await Aggregator(folder, clock: clock, bounds: bounds)
        aggregator.runsJobs = false
        try await aggregator.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<100, [.distance: 30])),
        ])
        #expect(try announced(try await aggregator.tick()).map(\.number) == [3])
        script.state.units = .imperial
        try await aggregator.deliver([script.change(.active, script.state.segments)])
        clock.advance(by: .seconds(60))
        try await aggregator.tick()
        #expect(aggregator.jobs.count == 1)
        try await aggregator.deliver([script.batch("watch-1", 100, items(145..<160, [.distance: 30]))])
        #expect(try announced(try await aggregator.tick()).isEmpty)
        try await aggregator.endJob()
        try await aggregator.tick()
        clock.advance(by: .seconds(50))
        try await aggregator.deliver([script.batch("watch-1", 115, items(160..<210, [.distance: 30]))])
        let miles = try announced(try await aggregator.tick())
        #expect(miles.map(\.number) == [3] && miles.map(\.unit) == [.mile])
    }

    @Test mutating func `after a restart items are acknowledged before stored ones are folded`() async throws {
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        _ = try await aggregator?.deliver([script.stateMessage])
        for first in stride(from: 0, to: 3_000, by: 1_000) {
            _ = try await aggregator?.deliver([
                script.batch("watch-1", first, items(first..<first + 1_000, [.distance: 1]))
            ])
        }
        aggregator = nil
        var again = try await Aggregator(folder, clock: clock)
        let sent = try await again.deliver([script.batch("watch-1", 3_000, items(3_000..<3_010, [.distance: 1]))])
        #expect(try sent.acks(script.key, "watch-1") == [.next(3_010)])
        #expect(again.loop.machine.sessions[script.key]?.live == nil)
        #expect(try snapshot(sent) == nil)
        let live = try #require(try snapshot(try await again.tick()))
        #expect(live.distance == 3_010)
        #expect(live.count == 3_010)
        let reused = try await again.deliver([script.batch("watch-1", 0, items(5..<6, [.distance: 1]))])
        #expect(try reused.acks(script.key, "watch-1") == [.streamReused])
    }
}
