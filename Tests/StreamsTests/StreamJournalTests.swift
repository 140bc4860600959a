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

/// Items go to the journal and from there into chunks. Results never depend on where they are.
struct StreamJournalTests {
    private typealias Replica = StreamReplica<SampleWork>

    private static let start = 1_700_000_000.0
    private let clock = ManualClock(now: Timestamp(seconds: start + 700))
    private let database = MemoryDatabase()
    private var script = Script(start: start)
    private var shards: Set<Shard> { [script.key.session.shard] }
    private let segments = [Segment(start: Timestamp(seconds: start), end: Timestamp(seconds: start + 599))]

    private func items(_ range: Range<Int>) -> [Sample] {
        range.map { number in
            var sample = Sample(time: Timestamp(seconds: Self.start + Double(number)))
            sample[.distance] = 3
            return sample
        }
    }

    private func replica() async throws -> Replica {
        var replica = try await Replica(database, clock: clock)
        try await replica.gain(shards)
        return replica
    }

    /// Delivers items one by one, and returns the last acknowledged number.
    private func deliver(_ range: Range<Int>, to replica: inout Replica) async throws -> Ack? {
        var acks: [Ack] = []
        for number in range {
            acks += try await replica.owner.deliver([script.batch("watch-1", number, items(number..<number + 1))])
                .acks(script.key, "watch-1")
        }
        return acks.last
    }

    private var chunks: [StoreKey: [UInt8]] { database.records(in: StreamStore.chunks) }

    private func wait(_ seconds: Int, _ replica: inout Replica) async throws {
        for _ in 0..<seconds {
            clock.advance(by: .seconds(1))
            try await replica.owner.tick()
        }
    }

    @Test func `items are acknowledged in the journal, and move into a chunk after 70 s`() async throws {
        var replica = try await replica()
        try await replica.owner.deliver([script.stateMessage])
        #expect(try await deliver(0..<20, to: &replica) == .next(20))
        #expect(chunks.isEmpty && database.journal.count == 20)
        try await wait(69, &replica)
        #expect(chunks.isEmpty)
        try await wait(3, &replica)
        #expect(chunks.count == 1 && database.journal.isEmpty)
        #expect(try chunks.values.flatMap { try ItemChunk<Sample>.items($0) } == items(0..<20))
    }

    @Test func `a restart continues with all acknowledged items`() async throws {
        var replica = try await replica()
        try await replica.owner.deliver([script.stateMessage])
        #expect(try await deliver(0..<150, to: &replica) == .next(150))
        #expect(chunks.count == 1 && !database.journal.isEmpty)
        replica = try await self.replica()
        #expect(chunks.count == 2 && database.journal.isEmpty)
        try await replica.owner.deliver([script.stateMessage])
        #expect(try await deliver(150..<151, to: &replica) == .next(151))
        try await replica.owner.tick()
        #expect(replica.owner.loop.machine.sessions[script.key]?.live?.total(.distance) == 453)
    }

    @Test func `a restart moves the journal of many sessions, each with all of its items`() async throws {
        let scripts = (0..<2 * StreamTimes.streamsAtOnce + 1).map { Script("demo-\($0)", start: Self.start) }
        var replica = try await Replica(database, clock: clock)
        try await replica.gain(Set(Shard.all))
        try await replica.owner.deliver(scripts.map(\.stateMessage))
        for first in [0, 7] {
            try await replica.owner.deliver(scripts.map { $0.batch("watch-1", first, items(first..<first + 7)) })
        }
        #expect(chunks.isEmpty && database.journal.count == 2 * scripts.count)
        replica = try await Replica(database, clock: clock)
        try await replica.gain(Set(Shard.all))
        #expect(chunks.count == scripts.count && database.journal.isEmpty)
        let stored = try chunks.values.map { try ItemChunk<Sample>.items($0) }
        let isWhole = stored.allSatisfy { $0 == items(0..<14) }
        #expect(isWhole)
    }

    @Test mutating func `the end of a session moves its items, and the summary has them all`() async throws {
        var replica = try await replica()
        try await replica.owner.deliver([script.stateMessage])
        _ = try await deliver(0..<300, to: &replica)
        #expect(chunks.count == 2)
        try await replica.owner.deliver([script.change(.saving, segments)])
        #expect(chunks.count == 3)
        let summary = try #require(
            try await replica.owner.tick().payloads(.session(script.key, .summaryMetrics)).last)
        let text = String(decoding: summary, as: UTF8.self)
        #expect(text.contains("\"samples/watch-1\":300") && text.contains("\"distance\":900"))
        // Late items are in chunks at once.
        _ = try await deliver(300..<310, to: &replica)
        #expect(try chunks.values.map { try ItemChunk<Sample>.items($0).count }.reduce(0, +) == 310)
    }

    @Test mutating func `a fold over all items has those of the journal, in the loop and as a job`() async throws {
        for manyItems in [0, 10_000] {
            var bounds = StreamBounds()
            bounds.manyItems = manyItems
            var script = Script(start: Self.start)
            var replica = try await Replica(database, clock: clock, bounds: bounds)
            try await replica.gain([script.key.session.shard])
            try await replica.owner.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<200))])
            try await replica.owner.tick()
            // Other segments require another fold.
            let start = segments[0].start + -10
            try await replica.owner.deliver([script.change(.active, [Segment(start: start, end: nil)])])
            #expect(replica.owner.loop.machine.keys(with: .fold) == [script.key])
            try await wait(61, &replica)
            #expect(replica.owner.loop.machine.keys(with: .fold).isEmpty)
            #expect(replica.owner.loop.machine.sessions[script.key]?.live?.total(.distance) == 600)
            #expect(replica.owner.loop.machine.sessions[script.key]?.hasUnsavedItems == true)
        }
    }

    @Test func `a replica that releases shards leaves nothing in the journal`() async throws {
        var replica = try await replica()
        try await replica.owner.deliver([script.stateMessage])
        _ = try await deliver(0..<20, to: &replica)
        try await replica.release(shards)
        #expect(chunks.count == 1 && database.journal.isEmpty)
        #expect(replica.owner.loop.machine.journal.oldest == nil || replica.owner.loop.machine.sessions.isEmpty)
    }

    @Test func `the next owner moves the journal of one that was lost`() async throws {
        var (former, owner) = (try await replica(), try await Replica(database, clock: clock))
        try await former.owner.deliver([script.stateMessage])
        _ = try await deliver(0..<20, to: &former)
        try await owner.gain(shards)
        #expect(chunks.count == 1 && database.journal.isEmpty)
        // The former owner has not noticed yet.
        #expect(try await deliver(20..<21, to: &former) == nil)
        try await owner.owner.deliver([script.stateMessage])
        #expect(try await deliver(20..<30, to: &owner) == .next(30))
        #expect(database.journal.count == 10)
    }

    @Test mutating func `after a deletion the journal has no items of before it within 40 s`() async throws {
        let other = Script("other", start: Self.start)
        var replica = try await Replica(database, clock: clock)
        try await replica.gain(Set(Shard.all))
        try await replica.owner.deliver([script.stateMessage, other.stateMessage])
        try await replica.owner.deliver([
            script.batch("watch-1", 0, items(0..<20)), other.batch("watch-1", 0, items(0..<20)),
        ])
        try await replica.owner.deliver([script.change(.deleted, [])])
        try await replica.owner.tick()
        #expect(database.journal.count == 2 && chunks.isEmpty)
        let copy = database.copy()
        try await wait(40, &replica)
        #expect(database.journal.isEmpty)
        #expect(chunks.keys.allSatisfy { $0.key.hasPrefix("\(other.key)/") } && chunks.count == 1)

        // After a crash the deletion's record keeps the items from returning.
        var next = try await Replica(copy, clock: clock)
        try await next.gain(Set(Shard.all))
        #expect(copy.journal.isEmpty)
        #expect(
            copy.records(in: StreamStore.chunks).keys.map(\.key) == [StreamStore.chunkKey("\(other.key)/watch-1", 0)])
    }

    @Test func `what a failed commit was to move stays due`() async throws {
        var replica = try await replica()
        try await replica.owner.deliver([script.stateMessage])
        _ = try await deliver(0..<20, to: &replica)
        replica.store.refuse()
        try await wait(75, &replica)
        #expect(try await deliver(20..<21, to: &replica) == nil)
        #expect(chunks.isEmpty)
        replica.store.accept()
        clock.advance(by: .seconds(1))
        try await replica.owner.tick()
        #expect(try chunks.values.flatMap { try ItemChunk<Sample>.items($0) } == items(0..<20))
        #expect(try await deliver(20..<21, to: &replica) == .next(21))
    }

    @Test func `a full disk takes no items, and still moves them out of the journal`() async throws {
        var replica = try await replica()
        try await replica.owner.deliver([script.stateMessage])
        _ = try await deliver(0..<20, to: &replica)
        replica.store.fill()
        #expect(try await deliver(20..<21, to: &replica) == nil)
        try await wait(75, &replica)
        #expect(chunks.count == 1 && database.journal.isEmpty)
    }

    @Test func `a journal that is too old takes no more items until it has moved`() async throws {
        var replica = try await replica()
        try await replica.owner.deliver([script.stateMessage])
        _ = try await deliver(0..<20, to: &replica)
        replica.store.refuse()
        clock.advance(by: .seconds(95))
        try await replica.owner.tick()
        replica.store.accept()
        #expect(try await deliver(20..<21, to: &replica) == .next(21))
        #expect(try chunks.values.flatMap { try ItemChunk<Sample>.items($0) } == items(0..<21))
        try await wait(2, &replica)
        #expect(database.journal.isEmpty)
    }

    @Test func `after a bad entry its device sends again, and other devices continue`() async throws {
        var replica = try await replica()
        try await replica.owner.deliver([script.stateMessage])
        _ = try await deliver(0..<20, to: &replica)
        try await replica.owner.deliver([script.batch("strap-1", 0, items(0..<5))])
        database.damageJournal { $0.first == 12 }
        replica = try await self.replica()
        #expect(database.journal.isEmpty)
        var sent = try await replica.owner.deliver([script.stateMessage])
        sent += try await replica.owner.tick()
        #expect(try sent.acks(script.key, "watch-1") == [.next(12)])
        #expect(try sent.acks(script.key, "strap-1") == [.next(5)])
        #expect(try await deliver(12..<30, to: &replica) == .next(30))
    }

    @Test func `a gain that cannot be committed is repeated, and nothing is acknowledged before`() async throws {
        var former = try await replica()
        try await former.owner.deliver([script.stateMessage])
        _ = try await deliver(0..<20, to: &former)
        var next = try await Replica(database, clock: clock)
        next.store.refuse()
        let gained = ServiceEvent.ownership(next.store.gain(shards))
        var failed = false
        do { try await next.owner.handle(gained) } catch StoreError.notReadable { failed = true }
        #expect(failed && chunks.isEmpty && database.journal.count == 20)
        next.store.accept()
        try await next.owner.handle(gained)
        #expect(chunks.count == 1 && database.journal.isEmpty)
    }
}
