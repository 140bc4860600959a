import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// Sessions with many items are folded and summarized by jobs outside of the loop. The tests decide when a job runs.
struct JobTests {
    private static let start = 1_700_000_000.0
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: start + 1_000))
    private var script = Script("attacker", start: start)
    private let whole = [Segment(start: Timestamp(seconds: start), end: Timestamp(seconds: start + 900))]

    init() throws {
        folder = try TemporaryFolder()
    }

    private func aggregator(session: Int = 1_000_000) async throws -> Aggregator {
        var bounds = StreamBounds()
        bounds.session = session
        bounds.manyItems = 100
        var aggregator = try await Aggregator(folder, clock: clock, bounds: bounds)
        aggregator.runsJobs = false
        return aggregator
    }

    private func items(_ range: Range<Int>) -> [Sample] {
        range.map { number in
            var sample = Sample(time: Timestamp(seconds: Self.start + Double(number) / 10))
            sample[.heartRate] = 120 + Double(number % 10)
            sample[.distance] = 1
            return sample
        }
    }

    private func summary(_ sent: [MQTTMessage]) throws -> SummaryReport<MetricsSummary>? {
        try sent.payloads(.session(script.key, .summaryMetrics)).last.map {
            try JSONCoding.decode(SummaryReport<MetricsSummary>.self, from: $0)
        }
    }

    @Test mutating func `while a job runs, items of others are acknowledged and small sessions summarized`()
        async throws
    {
        var aggregator = try await aggregator()
        var victim = Script("victim", start: Self.start)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<300))])
        try await aggregator.deliver([script.change(.saving, whole), victim.stateMessage])
        try await aggregator.tick()
        #expect(aggregator.jobs.count == 1)
        for first in stride(from: 0, to: 90, by: 10) {
            clock.advance(by: .seconds(1))
            let sent = try await aggregator.deliver([victim.batch("watch-1", first, items(first..<first + 10))])
            #expect(try sent.acks(victim.key, "watch-1") == [.next(first + 10)])
            let live = try await aggregator.tick().payloads(.session(victim.key, .metrics)).last
            #expect(try live.map { try MetricsSnapshot($0).count } == first + 10)
        }
        try await aggregator.deliver([victim.change(.saving, whole)])
        #expect(try await aggregator.tick().payloads(.session(victim.key, .summaryMetrics)).count == 1)
        #expect(aggregator.jobs.count == 1)
        try await aggregator.endJob()
        #expect(try summary(try await aggregator.endJob())?.totals.distance == 300)
    }

    @Test mutating func `items that arrive during a fold count with it`() async throws {
        var aggregator = try await aggregator()
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<300))])
        try await aggregator.deliver([script.change(.active, whole)])
        try await aggregator.tick()
        try await aggregator.deliver([script.batch("watch-1", 300, items(300..<310))])
        await aggregator.runJob()
        try await aggregator.deliver([
            script.batch("watch-1", 305, items(305..<340)), script.batch("strap-1", 0, items(0..<5)),
        ])
        let session = try #require(aggregator.loop.machine.sessions[script.key])
        try await aggregator.endJob()
        #expect(session.live?.total(.distance) == 340)
        #expect(session.job?.missed == nil)
        #expect(session.count == 345)
    }

    @Test mutating func `a fold over other segments is void, and another follows`() async throws {
        var aggregator = try await aggregator()
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<301))])
        try await aggregator.deliver([script.change(.active, whole)])
        try await aggregator.tick()
        let half = [Segment(start: whole[0].start, end: whole[0].start + 10)]
        try await aggregator.deliver([script.change(.paused, half)])
        let session = try #require(aggregator.loop.machine.sessions[script.key])
        try await aggregator.endJob(cost: .seconds(3))
        #expect(session.live?.total(.distance) == 301)
        clock.advance(by: .seconds(29))
        try await aggregator.tick()
        #expect(aggregator.jobs.isEmpty)
        clock.advance(by: .seconds(1))
        try await aggregator.tick()
        try await aggregator.endJob()
        #expect(session.live?.total(.distance) == 101)
    }

    @Test mutating func `a summary of older items is published, and the next follows after ten times its cost`()
        async throws
    {
        var aggregator = try await aggregator()
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<300))])
        try await aggregator.deliver([script.change(.saving, whole)])
        try await aggregator.tick()
        try await aggregator.endJob()
        let old = script.state.revision
        await aggregator.runJob()
        try await aggregator.deliver([
            script.change(.completed, whole), script.batch("watch-1", 300, items(300..<310)),
        ])
        let first = try #require(try summary(try await aggregator.endJob(cost: .seconds(30))))
        #expect(first.state == old)
        #expect(first.next == [StreamName(.samples, Device("watch-1")!): 300])
        #expect(aggregator.loop.machine.sessions[script.key]?.record.needsSummary == true)
        for _ in 0..<299 {
            clock.advance(by: .seconds(1))
            try await aggregator.tick()
        }
        #expect(aggregator.jobs.isEmpty)
        clock.advance(by: .seconds(1))
        try await aggregator.tick()
        let second = try #require(try summary(try await aggregator.endJob()))
        #expect(second.state == script.state.revision)
        #expect(second.next == [StreamName(.samples, Device("watch-1")!): 310])
        #expect(aggregator.loop.machine.sessions[script.key]?.record.needsSummary == false)
    }

    @Test func `two jobs run at one time, one of a user, users in turn`() async throws {
        var aggregator = try await aggregator()
        let users = ["anna", "berta", "clara"]
        var order: [String] = []
        for user in users {
            for _ in 0..<(user == "anna" ? 4 : 1) {
                var script = Script(user, start: Self.start)
                try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<101))])
                try await aggregator.deliver([script.change(.completed, [])])
            }
        }
        try await aggregator.tick()
        while !aggregator.jobs.isEmpty, order.count < 20 {
            #expect(aggregator.jobs.count <= 2)
            #expect(Set(aggregator.jobs.map(\.key.user)).count == aggregator.jobs.count)
            order.append("\(aggregator.jobs[0].key.user)")
            try await aggregator.endJob()
        }
        // Each session has a fold and a summary.
        #expect(order.count == 12)
        #expect(order.prefix(6).sorted() == ["anna", "anna", "berta", "berta", "clara", "clara"])
    }

    @Test func `two jobs together have no more items than a session may have`() async throws {
        var aggregator = try await aggregator(session: 350)
        for (user, count) in [("anna", 200), ("berta", 151), ("clara", 101)] {
            var script = Script(user, start: Self.start)
            try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<count))])
            try await aggregator.deliver([script.change(.active, whole)])
        }
        try await aggregator.tick()
        #expect(aggregator.jobs.map { "\($0.key.user)" } == ["anna"])
        try await aggregator.endJob()
        #expect(aggregator.jobs.map { "\($0.key.user)" } == ["berta", "clara"])
    }

    @Test(arguments: [true, false])
    mutating func `a session that is deleted or lost during its job publishes nothing`(isDeleted: Bool) async throws {
        var aggregator = try await aggregator()
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<300))])
        try await aggregator.deliver([script.change(.saving, whole)])
        try await aggregator.tick()
        if isDeleted {
            try await aggregator.deliver([script.change(.deleted, [])])
        } else {
            try await aggregator.handle(.ownership(.lost([script.key.session.shard])))
        }
        let sent = try await aggregator.endJob()
        #expect(sent.allSatisfy { $0.payload.isEmpty })
        #expect(aggregator.loop.machine.turns.isEmpty)
    }

    @Test mutating func `after a restart a job folds a session with many items, and the loop a small one`() async throws
    {
        let small = Script("small", start: Self.start)
        var aggregator: Aggregator? = try await aggregator()
        try await aggregator?.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<300))])
        try await aggregator?.deliver([small.stateMessage, small.batch("watch-1", 0, items(0..<30))])
        aggregator = nil
        aggregator = try await self.aggregator()
        try await aggregator?.deliver([script.stateMessage, small.stateMessage])
        let sent = try await aggregator?.tick()
        #expect(try sent?.acks(small.key, "watch-1") == [.next(30)])
        #expect(aggregator?.jobs.map(\.key) == [script.key])
        #expect(try await aggregator?.endJob().acks(script.key, "watch-1") == [.next(300)])
        #expect(aggregator?.loop.machine.sessions[script.key]?.live?.total(.distance) == 300)
    }

    @Test mutating func `unreadable items of a session with many are dropped by the loop`() async throws {
        var aggregator: Aggregator? = try await aggregator()
        try await aggregator?.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<300))])
        let key = StreamStore.chunkKey(StreamStore.name(script.key, Device("watch-1")!), 1)
        let write = aggregator?.loop.put(script.key.session.shard, StreamStore.chunks, key, [0x80])
        _ = try await aggregator?.store.commit([try #require(write)])
        aggregator = nil
        aggregator = try await self.aggregator()
        try await aggregator?.deliver([script.stateMessage])
        try await aggregator?.tick()
        let sent = try await aggregator?.endJob()
        #expect(try sent?.acks(script.key, "watch-1") == [.next(128)])
        let again = try await aggregator?.deliver([script.batch("watch-1", 128, items(128..<300))])
        #expect(try again?.acks(script.key, "watch-1") == [.next(300)])
    }

    @Test mutating func `the chunks of a session with many items go out a few at a time`() async throws {
        var aggregator = try await aggregator()
        let count = FinalRows.chunkLimit * (2 * StreamTimes.chunksAtOnce + 1)
        try await aggregator.deliver([script.stateMessage])
        for first in stride(from: 0, to: count, by: 1_000) {
            try await aggregator.deliver([script.batch("watch-1", first, items(first..<min(count, first + 1_000)))])
        }
        try await aggregator.deliver([
            script.change(.saving, [Segment(start: whole[0].start, end: whole[0].start + 9_000)])
        ])
        try await aggregator.tick()
        while case .fold = aggregator.jobs.first?.purpose { try await aggregator.endJob() }
        var ticks = [try await aggregator.endJob()]
        let chunks = try #require(try summary(ticks[0])).chunks
        for _ in 0..<3 { ticks.append(try await aggregator.tick()) }
        let sent = ticks.map { $0.count { if case .session(_, .series) = Topic($0.topic) { true } else { false } } }
        #expect(sent == [16, 16, 1, 0])
        #expect(sent.reduce(0, +) == chunks)
        #expect(aggregator.loop.machine.turns.isEmpty)
        #expect(aggregator.loop.chunkSendings.isEmpty)
    }
}
