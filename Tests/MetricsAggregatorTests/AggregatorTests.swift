import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// The service's loop on a real store.
struct AggregatorTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_100))
    private var script = Script()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func items(_ range: Range<Int>) -> [Sample] {
        range.map { number in
            var sample = Sample(time: Timestamp(seconds: 1_700_000_000 + Double(number)))
            sample[.heartRate] = 120 + Double(number % 10)
            sample[.distance] = 3
            return sample
        }
    }

    @Test func `items are acknowledged once they are stored`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage])
        let sent = try await aggregator.deliver([
            script.batch("watch-1", 0, items(0..<10)), script.batch("watch-1", 10, items(10..<20)),
        ])
        #expect(try sent.acks(script.key, "watch-1") == [.next(20)])
    }

    @Test func `while writes fail nothing is acknowledged, and repeats count once`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage])
        aggregator.store.refuse(true)
        let batch = script.batch("watch-1", 0, items(0..<10))
        #expect(try await aggregator.deliver([batch]).acks(script.key, "watch-1") == [])
        aggregator.store.refuse(false)
        #expect(try await aggregator.deliver([batch]).acks(script.key, "watch-1") == [.next(10)])
        #expect(aggregator.loop.machine.sessions[script.key]?.live?.total(.distance) == 30)
    }

    @Test func `items of an unknown session wait for its state`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        let early = try await aggregator.deliver([script.batch("watch-1", 0, items(0..<10))])
        #expect(early.isEmpty)
        let sent = try await aggregator.deliver([script.stateMessage])
        #expect(try sent.acks(script.key, "watch-1") == [.next(10)])
    }

    @Test func `gaps are answered at most every 100 ms`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<10))])
        let beyond = script.batch("watch-1", 20, items(20..<30))
        #expect(try await aggregator.deliver([beyond]).acks(script.key, "watch-1") == [.next(10)])
        #expect(try await aggregator.deliver([beyond]).acks(script.key, "watch-1") == [])
        clock.advance(by: .milliseconds(100))
        #expect(try await aggregator.deliver([beyond]).acks(script.key, "watch-1") == [.next(10)])
    }

    @Test func `a restarted stream is refused on the acknowledgement topic`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<10))])
        let sent = try await aggregator.deliver([script.batch("watch-1", 0, items(5..<15))])
        #expect(try sent.acks(script.key, "watch-1") == [.streamReused])
    }

    @Test func `an invalid batch is rejected and changes nothing`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage])
        var broken = script.batch("watch-1", 0, items(0..<10))
        broken.payload = broken.payload.dropLast(2)
        let sent = try await aggregator.deliver([broken])
        #expect(
            sent.map(\.topic) == [
                Topic.rejected(service: "metrics-aggregator").name, Topic.user(script.key.user, .rejected).name,
            ])
        #expect(aggregator.loop.machine.sessions[script.key]?.count == 0)
    }

    @Test func `an invalid batch between others of its topic leaves those as they are`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        var broken = script.batch("watch-1", 10, items(10..<20))
        broken.payload = broken.payload.dropLast(2)
        let sent = try await aggregator.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<10)), broken,
            script.batch("watch-1", 10, items(10..<20)), script.batch("strap-1", 0, items(0..<5)),
            script.batch("watch-1", 20, items(20..<30)),
        ])
        #expect(try sent.acks(script.key, "watch-1") == [.next(30)])
        #expect(try sent.acks(script.key, "strap-1") == [.next(5)])
        #expect(sent.count { $0.topic == Topic.rejected(service: "metrics-aggregator").name } == 1)
        #expect(aggregator.loop.machine.sessions[script.key]?.count == 35)
    }

    @Test mutating func `live metrics follow items at most once a second and expire after 15 s`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        script.state.run = RunID(UUID())
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<61))])
        let topic = Topic.session(script.key, .metrics)
        let first = try #require(try await aggregator.tick().payloads(topic).first)
        let snapshot = try MetricsSnapshot(first)
        #expect(snapshot.distance == 183)
        #expect(snapshot.heartRate == 120)
        #expect(snapshot.activeSeconds == 60)
        #expect(snapshot.count == 61)
        #expect(snapshot.run == script.state.run)
        #expect(snapshot.pace == 327.869)

        try await aggregator.deliver([script.batch("watch-1", 61, items(61..<62))])
        #expect(try await aggregator.tick().payloads(topic).isEmpty)
        clock.advance(by: .seconds(1))
        let second = try MetricsSnapshot(try #require(try await aggregator.tick().payloads(topic).first))
        #expect(second.revision > snapshot.revision)
        clock.advance(by: .seconds(5))
        #expect(try await aggregator.tick().payloads(topic).isEmpty)
        clock.advance(by: .seconds(10))
        let silent = try MetricsSnapshot(try #require(try await aggregator.tick().payloads(topic).first))
        #expect(silent.heartRate == nil)
        #expect(silent.distance == 186)
        clock.advance(by: .seconds(10))
        #expect(try await aggregator.tick().payloads(topic).isEmpty)
    }

    @Test mutating func `metrics follow each item of one a second at once`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        let topic = Topic.session(script.key, .metrics)
        try await aggregator.deliver([script.stateMessage])
        // Milliseconds. Ticks are a little late, as in a busy process.
        var time = 0
        var delays: [Int] = []
        for number in 0..<60 {
            try await aggregator.deliver([script.batch("watch-1", number, items(number..<number + 1))])
            while time < 1_000 * (number + 1) {
                clock.advance(by: .milliseconds(103))
                time += 103
                delays += try await aggregator.tick().payloads(topic).map { _ in time - 1_000 * number }
            }
        }
        #expect(delays.count == 60 && delays.allSatisfy { $0 <= 250 }, "\(delays)")
    }

    @Test mutating func `a late pause removes the values counted during it`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<61))])
        try await aggregator.tick()
        let start = Timestamp(seconds: 1_700_000_000)
        clock.advance(by: .seconds(1))
        try await aggregator.deliver([script.change(.paused, [Segment(start: start, end: start + 30)])])
        let payload = try #require(try await aggregator.tick().payloads(.session(script.key, .metrics)).first)
        let snapshot = try MetricsSnapshot(payload)
        #expect(snapshot.distance == 93)
        #expect(snapshot.activeSeconds == 30)
        #expect(snapshot.isPaused)
    }

    @Test mutating func `revisions of metrics rise over a restart even if the clock stepped backwards`() async throws {
        let topic = Topic.session(script.key, .metrics)
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        _ = try await aggregator?.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<10))])
        let before = try MetricsSnapshot(try #require(try await aggregator?.tick().payloads(topic).first))
        aggregator = nil
        let earlier = ManualClock(now: Timestamp(seconds: 1_700_000_050))
        var again = try await Aggregator(folder, clock: earlier)
        try await again.deliver([script.stateMessage, script.batch("watch-1", 10, items(10..<20))])
        let after = try MetricsSnapshot(try #require(try await again.tick().payloads(topic).first))
        #expect(after.revision > before.revision)
        #expect(after.count == 20)
        #expect(after.distance == 60)
    }

    @Test mutating func `the summary follows its chunks and keeps its revision if only the state changes`() async throws
    {
        var aggregator = try await Aggregator(folder, clock: clock)
        let start = Timestamp(seconds: 1_700_000_000)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        let ended = script.change(.saving, [Segment(start: start, end: start + 599)])
        try await aggregator.deliver([ended])
        let sent = try await aggregator.tick()
        let summary = Topic.session(script.key, .summaryMetrics)
        #expect(
            sent.map(\.topic).suffix(3)
                == [
                    Topic.session(script.key, .series(0)).name, Topic.session(script.key, .series(1)).name,
                    summary.name,
                ])
        let report = try JSONCoding.decode(MetricsReport.self, from: try #require(sent.payloads(summary).first))
        #expect(report.totals.distance == 1_800)
        #expect(report.next == [StreamName("samples/watch-1")!: 600])
        #expect(report.state == script.state.revision)

        clock.advance(by: .seconds(1))
        let completed = script.change(.completed, script.state.segments)
        try await aggregator.deliver([completed])
        let again = try await aggregator.tick()
        #expect(again.map(\.topic).filter { $0 != Topic.session(script.key, .metrics).name } == [summary.name])
        let repeated = try JSONCoding.decode(MetricsReport.self, from: try #require(again.payloads(summary).first))
        #expect(repeated.revision == report.revision)
        #expect(repeated.state == script.state.revision)

    }

    @Test mutating func `requests within 5 s of an answer share the next; no chunk is retained`()
        async throws
    {
        var aggregator = try await Aggregator(folder, clock: clock)
        let start = Timestamp(seconds: 1_700_000_000)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        try await aggregator.deliver([script.change(.completed, [Segment(start: start, end: start + 599)])])
        let series = Topic.session(script.key, .series(1))
        var sent = try await aggregator.tick()
        try await aggregator.deliver([script.chunkRequest])
        sent += try await aggregator.tick()
        #expect(sent.payloads(series).count == 2)
        for _ in 0..<4 {
            clock.advance(by: .seconds(1))
            try await aggregator.deliver([script.chunkRequest])
            #expect(try await aggregator.tick().payloads(series).isEmpty)
        }
        clock.advance(by: .seconds(1))
        sent += try await aggregator.tick()
        clock.advance(by: .seconds(3_601))
        sent += try await aggregator.tick()
        #expect(sent.payloads(series).count == 3)
        #expect(sent.allSatisfy { $0.topic != series.name || !$0.retain })
    }

    @Test mutating func `after a restart the summary is published again to an empty broker`() async throws {
        let start = Timestamp(seconds: 1_700_000_000)
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        _ = try await aggregator?.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<60))])
        let ended = script.change(.saving, [Segment(start: start, end: start + 59)])
        _ = try await aggregator?.deliver([ended])
        let summary = Topic.session(script.key, .summaryMetrics)
        let first = try #require(try await aggregator?.tick().payloads(summary).first)
        var connected = try await aggregator?.connect() ?? []
        connected += try await aggregator?.tick() ?? []
        #expect(connected.payloads(summary) == [first])
        #expect(connected.payloads(.session(script.key, .series(0))).isEmpty)
        aggregator = nil
        var again = try await Aggregator(folder, clock: clock)
        var retained = ended
        retained.retain = true
        let restarted = try await again.deliver([retained]) + again.tick()
        #expect(restarted.payloads(summary) == [first])
        #expect(restarted.payloads(.session(script.key, .series(0))).isEmpty)
    }

    @Test mutating func `a summary due at a kill is made after the restart`() async throws {
        let start = Timestamp(seconds: 1_700_000_000)
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        _ = try await aggregator?.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<60))])
        let ended = script.change(.saving, [Segment(start: start, end: start + 59)])
        _ = try await aggregator?.deliver([ended])
        aggregator = nil
        var again = try await Aggregator(folder, clock: clock)
        try await again.deliver([ended])
        #expect(try await again.tick().payloads(.session(script.key, .summaryMetrics)).count == 1)
    }
}

typealias Aggregator = StreamOwner<SampleWork>
