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

/// Invalid and hostile input is counted and reported at a limited rate, in bounded memory.
struct BoundsTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_100))
    private let script = Script()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func items(_ range: Range<Int>) -> [Sample] {
        range.map { number in
            var sample = Sample(time: Timestamp(seconds: 1_700_000_000 + Double(number)))
            sample[.heartRate] = 120
            return sample
        }
    }

    @Test func `ten thousand unknown sessions take bounded memory and delay no other session`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage])
        let payload = SampleBatch(first: 0, items: items(0..<60)).payload
        let keys = (0..<10_000).map { SessionKey(User("user-\($0)")!, SessionID(UUID())) }
        for round in 0..<2 {
            for start in stride(from: 0, to: keys.count, by: 1_000) {
                let messages = keys[start..<start + 1_000].map {
                    Topic.session($0, .samples(Device("watch-1")!)).message(payload)
                }
                let sent = try await aggregator.deliver(messages)
                #expect(sent.allSatisfy { $0.topic.contains("/rejected") }, "round \(round)")
            }
        }
        #expect(aggregator.loop.pendingBuffer.bytes <= StreamTimes.pendingBytes)
        #expect(aggregator.loop.pendingBuffer.overflowed > 0)
        #expect(aggregator.loop.machine.sessions.count == 1)
        #expect(aggregator.loop.missingRecords.unknown.count == 10_000)
        let sent = try await aggregator.deliver([script.batch("watch-1", 0, items(0..<10))])
        #expect(try sent.acks(script.key, "watch-1") == [.next(10)])
        clock.advance(by: .seconds(61))
        try await aggregator.tick()
        #expect(aggregator.loop.pendingBuffer.bytes == 0)
        // All messages of two rounds: each expired after a minute or found no room.
        #expect(aggregator.loop.pendingBuffer.overflowed + aggregator.loop.pendingBuffer.expired == 20_000)
    }

    @Test func `one user's unknown sessions leave room for those of others`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        let payload = SampleBatch(first: 0, items: items(0..<1_000)).payload
        let flood = (0..<1_000).map { _ in
            Topic.session(SessionKey(User("mallory")!, SessionID(UUID())), .samples(Device("watch-1")!)).message(
                payload)
        }
        try await aggregator.deliver(flood)
        #expect(aggregator.loop.pendingBuffer.bytes <= StreamTimes.pendingBytesOfUser)
        try await aggregator.deliver([script.batch("watch-1", 0, items(0..<10))])
        let sent = try await aggregator.deliver([script.stateMessage])
        #expect(try sent.acks(script.key, "watch-1") == [.next(10)])
        clock.advance(by: .seconds(61))
        try await aggregator.tick()
        #expect(aggregator.loop.pendingBuffer.bytes == 0)
        try await aggregator.deliver(Array(flood.prefix(1)))
        #expect(aggregator.loop.pendingBuffer.bytes > 0)
    }

    @Test func `the store is read once for an unknown session`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        let batch = script.batch("watch-1", 0, items(0..<10))
        try await aggregator.deliver([batch])
        // The record now exists, and another read would find it.
        let record = JSONCoding.encode(StreamRecord<MetricsSummary>(state: script.state))
        let write = try #require(
            aggregator.loop.put(script.key.session.shard, StreamStore.sessions, "\(script.key)", record))
        _ = try await aggregator.store.commit([write])
        try await aggregator.deliver([batch])
        #expect(aggregator.loop.machine.sessions[script.key] == nil)
        try await aggregator.deliver([script.stateMessage])
        #expect(aggregator.loop.missingRecords.unknown.isEmpty)
    }

    @Test func `invalid payloads are counted and published at a limited rate, and change nothing else`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<10))])
        let items = Array(repeating: #"{"c":1700000000,"h":100}"#, count: 100_000).joined(separator: ",")
        let nested = String(repeating: "[", count: 100_000)
        let payloads = [
            #"{"s":10,"x":[\#(items)]}"#, #"{"s":10,"x":\#(nested)"#, String(repeating: "x", count: 1_048_576),
            #"{"s":1e300,"x":[{}]}"#, #"{"s":-1,"x":[{}]}"#, #"{"s":10,"x":[]}"#, "", "null",
        ]
        let topic = Topic.session(script.key, .samples(Device("watch-1")!))
        var rejected = 0
        for _ in 0..<100 {
            rejected += try await aggregator.deliver(payloads.map { topic.message(Array($0.utf8)) }).count {
                $0.topic == Topic.rejected(service: "metrics-aggregator").name
            }
        }
        #expect(rejected == 100)
        let text = aggregator.loop.context.metrics.render()
        let counts = text.split(separator: "\n").filter { $0.hasPrefix("pacebus_aggregator_rejected_total{") }
        #expect(counts.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }.reduce(0, +) == 800)
        if let verdict = try Promtool.check(text) {
            #expect(verdict == "exit 0\n")
        } else {
            print("skipped: promtool is not on the PATH")
        }
        #expect(text.contains(#"pacebus_aggregator_rejected_total{reason="too_large"} 200"#))
        #expect(aggregator.loop.machine.sessions[script.key]?.count == 10)
    }

    @Test func `metrics cover items, messages, commits and sessions, each with a help text`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([
            script.stateMessage, script.batch("watch-1", 0, items(0..<10)), script.batch("watch-1", 5, items(5..<30)),
        ])
        try await aggregator.tick()
        let text = aggregator.loop.context.metrics.render()
        for line in [
            "pacebus_aggregator_items_total 30", "pacebus_aggregator_messages_total 3",
            #"pacebus_aggregator_sessions{status="active"} 1"#, "pacebus_aggregator_commit_items_sum 30",
            "pacebus_aggregator_ack_lag_seconds_count 1", "pacebus_aggregator_waiting_bytes 0",
            "# HELP pacebus_aggregator_commit_seconds Duration of a commit.",
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }

    @Test func `it is ready only while writes succeed`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage])
        #expect(aggregator.loop.writer.isWriting)
        aggregator.store.refuse(true)
        try await aggregator.deliver([script.batch("watch-1", 0, items(0..<10))])
        #expect(!aggregator.loop.writer.isWriting)
        aggregator.store.refuse(false)
        try await aggregator.deliver([script.batch("watch-1", 0, items(0..<10))])
        #expect(aggregator.loop.writer.isWriting)
    }
}
