import Bus
import Foundation
import MQTT
import Storage
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// Deleted and canceled sessions, and the expiry of retained topics.
struct StreamDeletionTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_100))
    private var script = Script()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func items(_ range: Range<Int>) -> [Sample] {
        range.map { number in
            var sample = Sample(time: Timestamp(seconds: 1_700_000_000 + Double(number)))
            sample[.distance] = 3
            return sample
        }
    }

    /// Ends the session, which then has a retained summary.
    private mutating func finish(_ aggregator: inout Aggregator) async throws {
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        let end = Segment(start: script.state.segments[0].start, end: Timestamp(seconds: 1_700_000_599))
        try await aggregator.deliver([script.change(.completed, [end])])
        try await aggregator.tick()
    }

    private func chunks(_ aggregator: Aggregator) async throws -> Int {
        try await aggregator.store.records(in: StreamStore.chunks, shards: [script.key.session.shard]).count
    }

    @Test mutating func `a deleted session is purged, its topics cleared and its items dropped`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await finish(&aggregator)
        let last = script.stateMessage
        #expect(try await chunks(aggregator) == 5)
        let deleted = script.change(.deleted, script.state.segments)
        try await aggregator.deliver([deleted])
        let sent = try await aggregator.tick()
        let retained: [SessionTopic] = [.metrics, .summaryMetrics]
        for topic in retained { #expect(sent.payloads(.session(script.key, topic)) == [[]], "\(topic)") }
        #expect(try await chunks(aggregator) == 0)
        let late = try await aggregator.deliver([script.batch("watch-1", 600, items(600..<610))])
        #expect(try late.acks(script.key, "watch-1") == [.next(610)])
        #expect(try await chunks(aggregator) == 0)

        // Neither time nor an old state restores it.
        let records = try await aggregator.store.records(in: StreamStore.sessions, shards: Set(Shard.all))
        #expect(records.count == 1)
        #expect(!String(decoding: records[0].value, as: UTF8.self).contains("Running"))
        let clock = clock
        clock.advance(by: .seconds(100))
        try await aggregator.tick()
        #expect(aggregator.loop.machine.sessions[script.key] == nil)
        let back = try await aggregator.deliver([last, script.batch("watch-9", 0, items(0..<10))])
        #expect(try back.acks(script.key, "watch-9") == [.next(10)])
        #expect(try await chunks(aggregator) == 0)
        #expect(try await aggregator.tick().isEmpty)
    }

    @Test mutating func `while writes fail a deletion is kept for later`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await finish(&aggregator)
        try await aggregator.deliver([script.change(.deleted, [])])
        aggregator.store.refuse(true)
        #expect(try await aggregator.tick().isEmpty)
        aggregator.store.refuse(false)
        #expect(try await aggregator.tick().payloads(.session(script.key, .summaryMetrics)) == [[]])
        #expect(try await chunks(aggregator) == 0)
    }

    @Test mutating func `items of a canceled session are stored, acknowledged and shown in metrics`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage])
        try await aggregator.deliver([script.change(.canceled, script.state.segments)])
        let sent = try await aggregator.deliver([script.batch("watch-1", 0, items(0..<10))])
        #expect(try sent.acks(script.key, "watch-1") == [.next(10)])
        #expect(try await chunks(aggregator) == 1)
        // The session engine restores the session when it receives these metrics.
        let payload = try #require(try await aggregator.tick().payloads(.session(script.key, .metrics)).last)
        #expect(try MetricsSnapshot(payload).count == 10)
    }

    @Test mutating func `retained topics are cleared 48 hours after their last revision, even over a restart`()
        async throws
    {
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        try await finish(&aggregator!)
        clock.advance(by: .seconds(60))
        _ = try await aggregator?.tick()
        clock.advance(by: .seconds(47 * 3_600))
        #expect(try await aggregator?.tick().payloads(.session(script.key, .summaryMetrics)).isEmpty == true)
        aggregator = nil
        var again = try await Aggregator(folder, clock: clock)
        try await again.tick()
        clock.advance(by: .seconds(2 * 3_600 + 60))
        let sent = try await again.tick()
        #expect(sent.payloads(.session(script.key, .summaryMetrics)) == [[]])
        #expect(sent.payloads(.session(script.key, .metrics)) == [[]])
        clock.advance(by: .seconds(3_600))
        #expect(try await again.tick().isEmpty)

        // An echo from the broker is cleared again.
        let echo = Topic.session(script.key, .summaryMetrics).message(Array(#"{"revision":5}"#.utf8))
        let cleared = try await again.deliver([echo])
        #expect(cleared.payloads(.session(script.key, .summaryMetrics)) == [[]])
    }

    /// A session whose commands and items arrive when it is long over.
    private mutating func finishPast(_ aggregator: inout Aggregator) async throws {
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        try await aggregator.tick()
        script.state.isPast = true
        let end = Segment(start: script.state.segments[0].start, end: Timestamp(seconds: 1_700_000_599))
        try await aggregator.deliver([script.change(.completed, [end])])
        try await aggregator.tick()
    }

    @Test mutating func `results of a session that was over when it arrived are cleared after 10 minutes`() async throws
    {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await finishPast(&aggregator)
        clock.advance(by: .seconds(540))
        #expect(try await aggregator.tick().payloads(.session(script.key, .summaryMetrics)).isEmpty)
        clock.advance(by: .seconds(120))
        let sent = try await aggregator.tick()
        #expect(sent.payloads(.session(script.key, .summaryMetrics)) == [[]])
        #expect(sent.payloads(.session(script.key, .metrics)) == [[]])
        // The engine's `state` is retained for longer, and brings nothing back.
        _ = try await aggregator.connect()
        let again = try await aggregator.deliver([script.stateMessage]) + aggregator.tick()
        #expect(again.payloads(.session(script.key, .metrics)).isEmpty)
        #expect(again.payloads(.session(script.key, .summaryMetrics)).isEmpty)
        // Readers request the results.
        let request = SessionRequest(id: CommandID(UUID()), client: Client("c")!, action: .chunks)
        let asked = try await aggregator.deliver([
            Topic.session(script.key, .request).message(JSONCoding.encode(request))
        ])
        let answered = try await asked + aggregator.tick()
        #expect(answered.payloads(.session(script.key, .summaryMetrics)).count == 1)
        clock.advance(by: .seconds(660))
        #expect(try await aggregator.tick().payloads(.session(script.key, .summaryMetrics)) == [[]])
    }

    @Test mutating func `after a restart they are cleared within another hour`() async throws {
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        try await finishPast(&aggregator!)
        aggregator = nil
        var again = try await Aggregator(folder, clock: clock)
        try await again.tick()
        clock.advance(by: .seconds(4_260))
        #expect(try await again.tick().payloads(.session(script.key, .summaryMetrics)) == [[]])
    }

    @Test mutating func `topics of a deleted session are cleared again on each connection`() async throws {
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        try await finish(&aggregator!)
        try await aggregator?.deliver([script.change(.deleted, script.state.segments)])
        try await aggregator?.tick()
        let retained: [SessionTopic] = [.metrics, .summaryMetrics]
        let again = try await aggregator?.connect() ?? []
        for topic in retained { #expect(again.payloads(.session(script.key, topic)) == [[]], "\(topic)") }
        // A later process receives the retained state.
        aggregator = nil
        aggregator = try await Aggregator(folder, clock: clock)
        let restarted = try await aggregator?.deliver([script.stateMessage]) ?? []
        for topic in retained { #expect(restarted.payloads(.session(script.key, topic)) == [[]], "\(topic)") }
    }
}
