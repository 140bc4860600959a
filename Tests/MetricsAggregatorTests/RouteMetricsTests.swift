import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// The live metrics' values from `route`.
struct RouteMetricsTests {
    private static let start = 1_700_000_000.0
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: start + 100))
    private let script = Script(start: start)

    init() throws {
        folder = try TemporaryFolder()
    }

    private func route(_ revision: Int64, second: Double, distance: Double, speed: Double? = 3) -> MQTTMessage {
        var snapshot = RouteSnapshot(user: script.key.user, revision: revision)
        snapshot.newest = Timestamp(seconds: Self.start + second)
        snapshot.distance = distance
        snapshot.speed = speed
        snapshot.maximumSpeed = 4
        snapshot.ascent = 12
        snapshot.latitude = 47.5
        snapshot.longitude = 8.25
        return Topic.session(script.key, .route).message(snapshot.payload)
    }

    private func items(_ range: Range<Int>, distance: Double? = nil) -> [Sample] {
        range.map { number in
            var sample = Sample(time: Timestamp(seconds: Self.start + Double(number)))
            sample[.heartRate] = 120
            sample[.distance] = distance
            return sample
        }
    }

    private func metrics(_ sent: [MQTTMessage]) throws -> MetricsSnapshot {
        try MetricsSnapshot(try #require(sent.payloads(.session(script.key, .metrics)).last))
    }

    @Test func `distance, pace, position and ascent come from the route until a device measures distance`() async throws
    {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<60)), route(5, second: 65, distance: 210),
        ])
        let live = try metrics(try await aggregator.tick())
        #expect((live.distance, live.speed, live.ascent) == (210, 3, 12))
        #expect((live.latitude, live.longitude) == (47.5, 8.25))
        #expect(live.newest == Timestamp(seconds: Self.start + 65))
        #expect(live.pace == 333.333)
        #expect(live.maximumSpeed == 4)
        #expect(live.heartRate == 120)
        try await aggregator.deliver([script.batch("watch-1", 60, items(60..<70, distance: 30))])
        clock.advance(by: .seconds(1))
        let measured = try metrics(try await aggregator.tick())
        #expect(measured.distance == 300)
        #expect(measured.ascent == 12)
        #expect(measured.speed != 3)
    }

    @Test func `a session with locations only has live metrics`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage, route(5, second: 65, distance: 210)])
        let live = try metrics(try await aggregator.tick())
        #expect((live.distance, live.activeSeconds, live.count) == (210, 65, 0))
        #expect((live.lapDistance, live.lapSeconds, live.averagePace) == (210, 65, 309.524))
        #expect(live.movingSeconds == 65)
    }

    @Test func `an older or equal route neither changes nor extends metrics`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<60)), route(5, second: 59, distance: 210),
        ])
        try await aggregator.tick()
        clock.advance(by: .seconds(15))
        let silent = try metrics(try await aggregator.tick())
        #expect((silent.heartRate, silent.speed, silent.distance) == (nil, nil, 210))
        // An equal route without old values, and an older route from the broker.
        try await aggregator.deliver([
            route(6, second: 59, distance: 210, speed: nil), route(4, second: 90, distance: 99),
        ])
        clock.advance(by: .seconds(1))
        #expect(try await aggregator.tick().payloads(.session(script.key, .metrics)).isEmpty)
        #expect(aggregator.loop.machine.sessions[script.key]?.live?.route?.distance == 210)
    }

    @Test func `the speed of an ended route is not shown`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([
            script.stateMessage, route(5, second: 40, distance: 120, speed: 3),
            script.batch("watch-1", 0, items(0..<60)),
        ])
        let live = try metrics(try await aggregator.tick())
        #expect(live.distance == 120)
        // Distance divided by active time.
        #expect(live.speed == 2.034)
    }

    @Test func `a kilometre of the route is announced once, even over a restart`() async throws {
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        let announcements = Topic.session(script.key, .announcements)
        try await aggregator?.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<60))])
        try await aggregator?.deliver([route(5, second: 60, distance: 990)])
        try await aggregator?.tick()
        try await aggregator?.deliver([route(6, second: 64, distance: 1_002)])
        #expect(try await aggregator?.tick().payloads(announcements).count == 1)
        try await aggregator?.deliver([route(7, second: 65, distance: 1_005)])
        #expect(try await aggregator?.tick().payloads(announcements).isEmpty == true)
        aggregator = nil
        aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator?.deliver([script.stateMessage])
        try await aggregator?.tick()
        try await aggregator?.deliver([route(8, second: 66, distance: 1_008)])
        #expect(try await aggregator?.tick().payloads(announcements).isEmpty == true)
    }
}
