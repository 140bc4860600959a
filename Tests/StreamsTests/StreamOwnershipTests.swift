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

/// Shards move between replicas. A former owner keeps, writes and publishes nothing, and a new one announces
/// everything.
struct StreamOwnershipTests {
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

    private func replica() async throws -> Replica { try await Replica(database, clock: clock) }

    /// The revisions of `metrics` among the messages.
    private func revisions(_ sent: [MQTTMessage]) throws -> [Int64] {
        try sent.payloads(.session(script.key, .metrics)).map { try MetricsSnapshot($0).revision }
    }

    /// The topics of the session's summary and series among the messages.
    private func results(_ sent: [MQTTMessage]) -> [String] {
        let topics: [SessionTopic] = [.summaryMetrics] + (0..<5).map { .series($0) }
        return sent.map(\.topic).filter { topic in topics.contains { Topic.session(script.key, $0).name == topic } }
    }

    @Test mutating func `48 hours after a loss the former owner clears nothing`() async throws {
        var (former, owner) = (try await replica(), try await replica())
        try await former.gain(shards)
        try await former.owner.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        try await former.owner.deliver([script.change(.completed, segments)])
        #expect(results(try await former.owner.tick()).count == 3)
        try await former.lose(shards)
        try await owner.gain(shards, retained: [script.stateMessage])
        for _ in 0..<2 {
            try await owner.owner.tick()
            clock.advance(by: .seconds(20))
        }
        clock.advance(by: .seconds(49 * 3_600))
        #expect(try await former.owner.tick().isEmpty)
        #expect(try await owner.owner.tick().payloads(.session(script.key, .summaryMetrics)).last == [])
    }

    @Test func `revisions of a shard that returns immediately stay below its stored ceiling`() async throws {
        var replicas = [try await replica(), try await replica(), try await replica()]
        var latest: Int64 = 0
        for (turn, index) in [0, 1, 0, 2].enumerated() {
            try await replicas[index].gain(shards, retained: [script.stateMessage])
            for part in 0..<4 {
                let first = turn * 40 + part * 10
                try await replicas[index].owner.deliver([script.batch("watch-1", first, items(first..<first + 10))])
                let revision = try #require(try revisions(try await replicas[index].owner.tick()).last)
                #expect(revision > latest, "turn \(turn)")
                latest = revision
                clock.advance(by: .seconds(1))
            }
            try await replicas[index].lose(shards)
        }
    }

    @Test func `after a hundred hand-overs revisions are at most 5 s ahead of the clock`() async throws {
        var random = SeededRandom()
        var replicas = [try await replica(), try await replica(), try await replica()]
        var (owner, latest, first): (Int?, Int64, Int) = (nil, 0, 0)
        for _ in 0..<100 {
            let next = (0..<3).filter { $0 != owner }.randomElement(using: &random)!
            // Otherwise the former owner is frozen and hears of the loss later.
            if let owner, Bool.random(using: &random) { try await replicas[owner].release(shards) }
            try await replicas[next].gain(shards, retained: [script.stateMessage])
            if let owner { try await replicas[owner].lose(shards) }
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                try await replicas[next].owner.deliver([script.batch("watch-1", first, items(first..<first + 2))])
                first += 2
                for revision in try revisions(try await replicas[next].owner.tick()) {
                    #expect(revision > latest && revision <= clock.moment.wallClock.milliseconds + 5_000)
                    latest = revision
                }
                let stored = try await replicas[next].store.records(in: StreamStore.revisions, shards: shards)
                let ceiling = try #require(stored.first.flatMap { Int64(String(decoding: $0.value, as: UTF8.self)) })
                #expect(ceiling >= latest && ceiling <= clock.moment.wallClock.milliseconds + 5_000)
                clock.advance(by: .milliseconds(Int64.random(in: 50...1_200, using: &random)))
            }
            owner = next
        }
        #expect(latest > 0)
    }

    @Test mutating func `a loss leaves nothing of the shard in memory`() async throws {
        var replica = try await replica()
        try await replica.gain(shards)
        let write = replica.owner.loop.put(
            script.key.session.shard, StreamStore.sessions, "\(script.key)", Array("nonsense".utf8))
        _ = try await replica.store.commit([try #require(write)])
        try await replica.owner.deliver([script.batch("watch-1", 0, items(0..<10))])
        #expect(replica.owner.loop.missingRecords.corrupt == [script.key] && replica.owner.loop.pendingBuffer.bytes > 0)
        try await replica.owner.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        try await replica.owner.tick()
        try await replica.owner.deliver([script.change(.completed, segments)])
        try await replica.owner.tick()
        try await replica.owner.deliver([script.chunkRequest])
        #expect(!replica.owner.loop.machine.keys(with: .chunks).isEmpty && !replica.owner.loop.revisions.isEmpty)
        try await replica.lose(shards)
        let loop = replica.owner.loop
        #expect(
            loop.writer.epochs.isEmpty && loop.revisions.isEmpty)
        #expect(loop.retention.keys(in: shards).isEmpty && loop.pendingBuffer.bytes == 0)
        #expect(
            loop.missingRecords.corrupt.isEmpty && loop.missingRecords.unknown.isEmpty && loop.machine.sessions.isEmpty)
        var schedule = loop.machine.schedule
        #expect(StreamTask.allCases.allSatisfy { schedule.sessions(with: $0).isEmpty })
    }

    enum Work: CaseIterable {
        case summary, request, purge
    }

    @Test(arguments: Work.allCases)
    func `a commit for a lost shard publishes and clears nothing`(work: Work) async throws {
        var (former, owner) = (try await replica(), try await replica())
        var script = script
        try await former.gain(shards)
        try await former.owner.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        try await former.owner.tick()
        if work != .summary {
            try await former.owner.deliver([script.change(.completed, segments)])
            try await former.owner.tick()
        }
        // Live values are published first, so the work's own commit notices the loss.
        clock.advance(by: .seconds(20))
        try await former.owner.tick()
        switch work {
        case .summary: try await former.owner.deliver([script.change(.completed, segments)])
        case .request: try await former.owner.deliver([script.chunkRequest])
        case .purge: try await former.owner.deliver([script.change(.deleted, segments)])
        }
        // The former owner has not noticed yet.
        let gained = try await owner.gain(shards, retained: [script.stateMessage])
        #expect(results(try await former.owner.tick()).isEmpty)
        #expect(former.owner.loop.machine.sessions.isEmpty)
        #expect(!results(try await gained + owner.owner.tick()).isEmpty)
    }

    @Test mutating func `nothing of a shard is sent once the store knows of its loss`() async throws {
        var replica = try await replica()
        try await replica.gain(shards)
        try await replica.owner.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        try await replica.owner.deliver([script.change(.completed, segments)])
        try await replica.owner.tick()
        #expect(!results(try await replica.owner.connect()).isEmpty)
        let change = replica.store.lose(shards)
        #expect(try await replica.owner.connect().isEmpty)
        #expect(try await replica.owner.deliver([script.batch("watch-1", 0, items(0..<600))]).isEmpty)
        #expect(try await replica.owner.handle(.ownership(change)).isEmpty)
        let gained = try await replica.gain(shards, retained: [script.stateMessage])
        #expect(!results(try await gained + replica.owner.tick()).isEmpty)
    }

    @Test(arguments: [0.9, 1.1])
    func `a former owner publishes live metrics for at most a second after its last commit`(seconds: Double)
        async throws
    {
        var (former, owner) = (try await replica(), try await replica())
        try await former.gain(shards)
        try await former.owner.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<10))])
        #expect(try revisions(try await former.owner.tick()).count == 1)
        clock.advance(by: .seconds(20))
        // Silence and the route change live metrics without a commit.
        #expect(try revisions(try await former.owner.tick()).count == 1)
        try await owner.gain(shards, retained: [script.stateMessage])
        clock.advance(by: .seconds(seconds))
        var route = RouteSnapshot(user: script.key.user, revision: 1)
        route.newest = Timestamp(seconds: Self.start + 650)
        route.distance = 210
        try await former.owner.deliver([Topic.session(script.key, .route).message(route.payload)])
        clock.advance(by: .seconds(0.1))
        #expect(try revisions(try await former.owner.tick()).count == (seconds < 1 ? 1 : 0))
        #expect(former.owner.loop.writer.epochs.isEmpty == (seconds > 1))
    }

    @Test func `a gain announces unpublished commits of the former owner`() async throws {
        var (former, owner) = (try await replica(), try await replica())
        try await former.gain(shards)
        former.owner.bus.limit(to: 0)
        try await former.owner.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<300)), script.batch("strap-1", 0, items(0..<20)),
        ])
        var sent = try await owner.gain(shards)
        sent += try await owner.owner.tick()
        #expect(try sent.acks(script.key, "watch-1") == [.next(300)])
        #expect(try sent.acks(script.key, "strap-1") == [.next(20)])
        let snapshot = try MetricsSnapshot(try #require(sent.payloads(.session(script.key, .metrics)).last))
        #expect(snapshot.count == 320)
        // The announcement happens once.
        clock.advance(by: .seconds(60))
        #expect(try await owner.owner.tick().acks(script.key, "watch-1").isEmpty)
    }

    @Test mutating func `a gain announces the summary of an ended session`() async throws {
        var (former, owner) = (try await replica(), try await replica())
        try await former.gain(shards)
        try await former.owner.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        try await former.owner.deliver([script.change(.saving, segments)])
        former.owner.bus.limit(to: 0)
        try await former.owner.tick()
        var sent = try await owner.gain(shards)
        sent += try await owner.owner.tick()
        #expect(Set(results(sent)).count == 1)
        try await owner.owner.deliver([script.chunkRequest])
        #expect(Set(results(try await owner.owner.tick())).count == 3)
        #expect(try sent.acks(script.key, "watch-1").isEmpty)
    }
}
