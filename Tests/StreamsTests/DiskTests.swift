import Bus
import Foundation
import MQTT
import Storage
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// A disk that refuses writes, and a corrupt record.
struct DiskTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_700))
    private var script = Script()
    private var end: Segment { Segment(start: script.state.segments[0].start, end: Timestamp(seconds: 1_700_000_599)) }

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

    @Test mutating func `a summary refused by the disk follows with its chunks later`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        try await aggregator.deliver([script.change(.completed, [end])])
        aggregator.store.refuse(true)
        #expect(try await aggregator.tick().payloads(.session(script.key, .summaryMetrics)).isEmpty)
        aggregator.store.refuse(false)
        clock.advance(by: .seconds(2))
        let sent = try await aggregator.tick()
        for topic in [SessionTopic.summaryMetrics, .series(0), .series(1)] {
            #expect(sent.payloads(.session(script.key, topic)).count == 1, "\(topic)")
        }
    }

    @Test mutating func `a request that the disk refuses is answered later`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        try await aggregator.deliver([script.change(.completed, [end])])
        try await aggregator.tick()
        let series = Topic.session(script.key, .series(0))
        try await aggregator.deliver([script.chunkRequest])
        aggregator.store.refuse(true)
        #expect(try await aggregator.tick().payloads(series).isEmpty)
        aggregator.store.refuse(false)
        clock.advance(by: .seconds(5))
        #expect(try await aggregator.tick().payloads(series).map(\.isEmpty) == [false])
    }

    @Test mutating func `requests for unknown sessions are dropped`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        let requests = (0..<1_000).map { _ in Script().chunkRequest }
        try await aggregator.deliver(requests)
        #expect(aggregator.loop.machine.keys(with: .chunks).isEmpty)
    }

    @Test mutating func `a session with a corrupt record continues with its stored items`() async throws {
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        try await aggregator?.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<300))])
        let write = aggregator?.loop.put(
            script.key.session.shard, StreamStore.sessions, "\(script.key)", Array("nonsense".utf8))
        _ = try await aggregator?.store.commit([try #require(write)])
        aggregator = nil
        aggregator = try await Aggregator(folder, clock: clock)
        let sent = try await aggregator?.deliver([
            script.batch("watch-1", 300, items(300..<310)), script.stateMessage,
            script.batch("watch-1", 300, items(300..<310)),
        ])
        #expect(try sent?.acks(script.key, "watch-1") == [.next(310)])
        #expect(aggregator?.loop.machine.sessions[script.key]?.live?.total(.distance) == 930)
        try await endAndEvict(&aggregator)
        let later = try await aggregator?.deliver([script.batch("watch-1", 310, items(310..<320))])
        #expect(try later?.acks(script.key, "watch-1") == [.next(320)])
    }

    @Test mutating func `a session continues with what a restart moved out of the journal, once`() async throws {
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        try await aggregator?.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<300))])
        aggregator = nil
        aggregator = try await Aggregator(folder, clock: clock)
        #expect(aggregator?.loop.machine.moved[script.key]?.values.map(\.next) == [300])
        let sent = try await aggregator?.deliver([script.batch("watch-1", 300, items(300..<310))])
        #expect(try sent?.acks(script.key, "watch-1") == [.next(310)])
        #expect(aggregator?.loop.machine.moved.isEmpty == true)
        try await endAndEvict(&aggregator)
        let later = try await aggregator?.deliver([script.batch("watch-1", 310, items(310..<320))])
        #expect(try later?.acks(script.key, "watch-1") == [.next(320)])
    }

    private mutating func endAndEvict(_ aggregator: inout Aggregator?) async throws {
        try await aggregator?.deliver([script.change(.completed, [end])])
        try await aggregator?.tick()
        clock.advance(by: .seconds(61))
        try await aggregator?.tick()
        try #require(aggregator?.loop.machine.sessions[script.key] == nil)
    }
}
