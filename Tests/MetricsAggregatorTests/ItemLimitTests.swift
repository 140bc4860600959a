import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// The numbers of items that a session may have, and accept in an hour.
struct ItemLimitTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_100))
    private var script = Script()
    private let start = Timestamp(seconds: 1_700_000_000)

    init() throws {
        folder = try TemporaryFolder()
    }

    private func aggregator(session: Int = 100, hour: Int = 1_000) async throws -> Aggregator {
        var bounds = StreamBounds()
        bounds.session = session
        bounds.hour = hour
        return try await Aggregator(folder, clock: clock, bounds: bounds)
    }

    private func items(_ range: Range<Int>) -> [Sample] {
        range.map { Sample(time: Timestamp(seconds: 1_700_000_000 + Double($0))) }
    }

    private func limited(_ aggregator: Aggregator, _ limit: String) -> String? {
        aggregator.loop.context.metrics.render().split(separator: "\n").map(String.init)
            .first { $0.contains("pacebus_limited_total{") && $0.contains("\"\(limit)\"") }
    }

    @Test func `the limits are two million items of a session and 250,000 an hour`() {
        #expect(StreamBounds().session == 2_000_000)
        #expect(StreamBounds().hour == 250_000)
    }

    @Test mutating func `a session at its limit accepts no item of any device, also after a restart`() async throws {
        var aggregator: Aggregator? = try await aggregator()
        try await aggregator?.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<60))])
        try await aggregator?.deliver([script.batch("strap-1", 0, items(0..<30))])
        let sent = try await aggregator?.deliver([script.batch("watch-1", 60, items(60..<71))])
        #expect(try sent?.acks(script.key, "watch-1") == [.tooManyItems(next: 60, retryAfter: nil)])
        #expect(aggregator.flatMap { limited($0, "items_per_session") }?.hasSuffix(" 11") == true)
        clock.advance(by: .seconds(1))
        let repeated = try await aggregator?.deliver([script.batch("watch-1", 50, items(50..<60))])
        #expect(try repeated?.acks(script.key, "watch-1") == [.next(60)])
        let last = try await aggregator?.deliver([script.batch("watch-1", 55, items(55..<70))])
        #expect(try last?.acks(script.key, "watch-1") == [.next(70)])

        // All items of the ended session count before its streams are loaded.
        try await aggregator?.deliver([
            script.change(.saving, [Segment(start: start, end: start + 100)])
        ])
        try await aggregator?.tick()
        aggregator = nil
        aggregator = try await self.aggregator()
        let late = try await aggregator?.deliver([script.batch("phone-1", 0, items(0..<1))])
        #expect(try late?.acks(script.key, "phone-1") == [.tooManyItems(next: 0, retryAfter: nil)])
    }

    @Test func `refusals are answered at most every 100 ms, and other sessions are not affected`() async throws {
        var aggregator = try await aggregator()
        let other = Script("other")
        let beyond = script.batch("watch-1", 0, items(0..<101))
        try await aggregator.deliver([script.stateMessage, other.stateMessage])
        let sent = try await aggregator.deliver([beyond, beyond, other.batch("watch-1", 0, items(0..<100)), beyond])
        #expect(try sent.acks(script.key, "watch-1") == [.tooManyItems(next: 0, retryAfter: nil)])
        #expect(try sent.acks(other.key, "watch-1") == [.next(100)])
        #expect(try await aggregator.deliver([beyond]).acks(script.key, "watch-1") == [])
        clock.advance(by: .milliseconds(100))
        #expect(try await aggregator.deliver([beyond]).acks(script.key, "watch-1").count == 1)
    }

    @Test func `an hour's items are accepted again as time passes by uptime`() async throws {
        var aggregator = try await aggregator(session: 10_000, hour: 360)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<300))])
        let batch = script.batch("watch-1", 300, items(300..<400))
        let sent = try await aggregator.deliver([batch])
        // 60 items are left, and ten seconds give one.
        #expect(try sent.acks(script.key, "watch-1") == [.tooManyItems(next: 300, retryAfter: 400)])
        #expect(limited(aggregator, "items_per_hour")?.hasSuffix(" 100") == true)
        clock.step(by: .seconds(7_200))
        #expect(try await aggregator.deliver([batch]).acks(script.key, "watch-1") == [])
        clock.advance(by: .seconds(399))
        #expect(
            try await aggregator.deliver([batch]).acks(script.key, "watch-1")
                == [.tooManyItems(next: 300, retryAfter: 1)])
        clock.advance(by: .seconds(1))
        #expect(try await aggregator.deliver([batch]).acks(script.key, "watch-1") == [.next(400)])
    }

    @Test func `items of a failed commit do not count`() async throws {
        var aggregator = try await aggregator(session: 100, hour: 100)
        try await aggregator.deliver([script.stateMessage])
        let batch = script.batch("watch-1", 0, items(0..<80))
        aggregator.store.refuse(true)
        for _ in 0..<5 { #expect(try await aggregator.deliver([batch]).acks(script.key, "watch-1") == []) }
        aggregator.store.refuse(false)
        #expect(try await aggregator.deliver([batch]).acks(script.key, "watch-1") == [.next(80)])
    }
}
