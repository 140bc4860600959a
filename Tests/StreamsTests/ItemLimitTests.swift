import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// The numbers of items that a session may have, and accept in an hour, and that an account may store in a day.
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

    @Test func `the limits are two million items of a session, 250,000 an hour and 40 million of an account a day`() {
        #expect(StreamBounds().session == 2_000_000)
        #expect(StreamBounds().hour == 250_000)
        #expect(StreamBounds().day == 40_000_000)
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

    // MARK: The quota of a day

    @Test func `an operator sets the quota, of at least a whole batch`() throws {
        func day(_ flag: String?, _ variable: String = "") throws -> Int {
            try StreamOptions.day(flag, environment: ["ITEMS_PER_DAY": variable])
        }
        #expect(try day(nil) == 40_000_000)
        #expect(try day(nil, "1000") == 1_000)
        #expect(try day("2000", "1000") == 2_000)
        let error = #expect(throws: SettingError.self) { try day("999") }
        #expect(
            error?.description
                == "--items-per-day (ITEMS_PER_DAY): '999' is not accepted; expected a number of at least 1000")
    }

    @Test func `an account at its quota of a day continues at midnight UTC, and no other waits`() async throws {
        var bounds = StreamBounds()
        bounds.day = 500
        var aggregator = try await Aggregator(folder, clock: clock, bounds: bounds)
        let (second, other) = (Script(start: 1_700_000_000), Script("other"))
        try await aggregator.deliver([
            script.stateMessage, second.stateMessage, other.stateMessage, script.batch("watch-1", 0, items(0..<300)),
        ])
        let sent = try await aggregator.deliver([
            second.batch("watch-1", 0, items(0..<201)), other.batch("watch-1", 0, items(0..<400)),
        ])
        // 2023-11-14T22:15:00Z
        #expect(try sent.acks(second.key, "watch-1") == [.tooManyItems(next: 0, retryAfter: 6_300)])
        #expect(try sent.acks(other.key, "watch-1") == [.next(400)])
        #expect(limited(aggregator, "items_per_day")?.hasSuffix(" 201") == true)
        #expect(
            try await aggregator.deliver([second.batch("watch-1", 0, items(0..<200))]).acks(second.key, "watch-1")
                == [.next(200)])
        try await aggregator.tick()
        #expect(aggregator.loop.context.metrics.render().contains("pacebus_aggregator_daily_items_highest 500"))

        clock.advance(by: .seconds(6_299))
        let late = second.batch("watch-1", 200, items(200..<300))
        #expect(
            try await aggregator.deliver([late]).acks(second.key, "watch-1")
                == [.tooManyItems(next: 200, retryAfter: 1)])
        clock.advance(by: .seconds(1))
        #expect(try await aggregator.deliver([late]).acks(second.key, "watch-1") == [.next(300)])
    }

    @Test func `items of imported files do not count for the day, and are stored beyond it`() async throws {
        var bounds = StreamBounds()
        bounds.day = 500
        var aggregator = try await Aggregator(folder, clock: clock, bounds: bounds)
        let second = Script(start: 1_700_000_000)
        let sent = try await aggregator.deliver([
            script.stateMessage, second.stateMessage, script.batch("import", 0, items(0..<400)),
            second.batch("watch-1", 0, items(0..<500)), script.batch("import", 400, items(400..<500)),
        ])
        #expect(try sent.acks(script.key, "import").last == .next(500))
        #expect(try sent.acks(second.key, "watch-1") == [.next(500)])
        try await aggregator.tick()
        #expect(aggregator.loop.context.metrics.render().contains("pacebus_aggregator_daily_items_highest 500"))
    }

    @Test func `neither a restart nor a failed commit nor another replica gives a new quota`() async throws {
        var bounds = StreamBounds()
        bounds.day = 500
        let database = MemoryDatabase()
        let second = Script(session: SessionID(UUID(uuidString: "00000000-0000-4000-8000-000000000000")!))
        let first = Script(session: SessionID(UUID(uuidString: "ff000000-0000-4000-8000-000000000000")!))
        var replica = try await StreamReplica<SampleWork>(database, clock: clock, bounds: bounds)
        try await replica.gain([first.key.session.shard])
        try await replica.owner.deliver([first.stateMessage])
        replica.owner.store.refuse(true)
        try await replica.owner.deliver([first.batch("watch-1", 0, items(0..<450))])
        replica.owner.store.refuse(false)
        clock.advance(by: .seconds(5))
        let sent = try await replica.owner.deliver([first.batch("watch-1", 0, items(0..<450))])
        #expect(try sent.acks(first.key, "watch-1") == [.next(450)])

        // Another replica sees the records of the first one, and its own after it gained that one's shard.
        for gainsAll in [false, true] {
            var other = try await StreamReplica<SampleWork>(database, clock: clock, bounds: bounds)
            try await other.gain([second.key.session.shard])
            if gainsAll { try await other.gain([first.key.session.shard]) }
            try await other.owner.tick()
            try await other.owner.deliver([second.stateMessage])
            let refused = try await other.owner.deliver([second.batch("phone-1", 0, items(0..<51))])
            #expect(try refused.acks(second.key, "phone-1").map(\.isRefusal) == [true])
        }
    }
}

extension Ack {
    fileprivate var isRefusal: Bool { if case .tooManyItems = self { true } else { false } }
}
