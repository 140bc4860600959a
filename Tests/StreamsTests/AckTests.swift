import Bus
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// When a device receives an acknowledgement.
@Suite struct AckTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_100))
    private let script = Script()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func items(_ range: Range<Int>) -> [Sample] {
        range.map { Sample(time: Timestamp(seconds: 1_700_000_000 + Double($0) / 10)) }
    }

    private func batch(_ first: Int, _ count: Int, asksAck: Bool = false) -> MQTTMessage {
        script.batch("watch-1", first, items(first..<first + count), asksAck: asksAck)
    }

    private func aggregator() async throws -> Aggregator {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage])
        try await aggregator.tick()
        return aggregator
    }

    @Test func `a batch that asks is acknowledged with its commit, with the service's clock`() async throws {
        var aggregator = try await aggregator()
        #expect(try await aggregator.deliver([batch(0, 10)]).acks(script.key, "watch-1") == [])
        let sent = try await aggregator.deliver([batch(10, 10, asksAck: true)])
        #expect(try sent.acks(script.key, "watch-1") == [.next(20)])
        let ack = try #require(sent.payloads(.session(script.key, .samplesAck(Device("watch-1")!))).first)
        #expect(String(decoding: ack, as: UTF8.self) == #"{"n":20,"e":1,"now":1700000100}"#)
    }

    @Test func `the tenth batch or the five hundredth item is acknowledged`() async throws {
        var aggregator = try await aggregator()
        for number in 0..<30 {
            let acks = try await aggregator.deliver([batch(number, 1)]).acks(script.key, "watch-1")
            #expect(acks == (number % 10 == 9 ? [.next(number + 1)] : []))
        }
        #expect(try await aggregator.deliver([batch(30, 499)]).acks(script.key, "watch-1") == [])
        #expect(try await aggregator.deliver([batch(529, 1)]).acks(script.key, "watch-1") == [.next(530)])
    }

    @Test func `the first unacknowledged item waits three seconds`() async throws {
        var aggregator = try await aggregator()
        try await aggregator.deliver([batch(0, 2)])
        clock.advance(by: .seconds(2))
        #expect(try await aggregator.deliver([batch(2, 2)]).acks(script.key, "watch-1") == [])
        clock.advance(by: .milliseconds(900))
        #expect(try await aggregator.tick().acks(script.key, "watch-1") == [])
        clock.advance(by: .milliseconds(100))
        #expect(try await aggregator.tick().acks(script.key, "watch-1") == [.next(4)])
        clock.advance(by: .seconds(10))
        #expect(try await aggregator.tick().acks(script.key, "watch-1") == [])
    }

    @Test func `repeats and gaps are answered at once`() async throws {
        var aggregator = try await aggregator()
        try await aggregator.deliver([batch(0, 10)])
        #expect(try await aggregator.deliver([batch(0, 10)]).acks(script.key, "watch-1") == [.next(10)])
        #expect(try await aggregator.deliver([batch(20, 10)]).acks(script.key, "watch-1") == [.next(10)])
    }

    @Test func `every acknowledgement carries the owner's epoch, which grows with a restart`() async throws {
        var last: Int64 = 0
        for run in 0..<3 {
            var aggregator: Aggregator? = try await aggregator()
            // A batch, one beyond, and one of a device that lost its queue.
            let messages = [
                batch(run * 10, 10, asksAck: true), batch(1_000, 10), script.batch("watch-1", 0, items(5..<15)),
            ]
            let sent = try await aggregator?.deliver(messages) ?? []
            let acks = try sent.payloads(.session(script.key, .samplesAck(Device("watch-1")!))).map { try Ack.read($0) }
            #expect(Set(acks.map { "\($0.ack)" }) == ["\(Ack.next(run * 10 + 10))", "\(Ack.streamReused)"])
            let epochs = Set(acks.map(\.epoch))
            let epoch = try #require(epochs.first ?? nil)
            #expect(epochs.count == 1 && epoch > last)
            last = epoch
            aggregator = nil
        }
    }

    @Test func `the answer to a gap comes twice if its number is new`() async throws {
        var aggregator = try await aggregator()
        try await aggregator.deliver([batch(0, 10)])
        #expect(try await aggregator.deliver([batch(20, 10)]).acks(script.key, "watch-1") == [.next(10), .next(10)])
        clock.advance(by: .seconds(1))
        #expect(try await aggregator.deliver([batch(30, 10)]).acks(script.key, "watch-1") == [.next(10)])
    }

    @Test func `an answer to a gap that the same commit fills comes once`() async throws {
        var aggregator = try await aggregator()
        try await aggregator.deliver([batch(0, 10)])
        let sent = try await aggregator.deliver([batch(20, 10), batch(10, 10)])
        #expect(try sent.acks(script.key, "watch-1") == [.next(20)])
    }

    @Test func `a failed commit leaves nothing to acknowledge but what is on disk`() async throws {
        var aggregator = try await aggregator()
        aggregator.store.refuse(true)
        try await aggregator.deliver([batch(0, 10)])
        clock.advance(by: .seconds(10))
        #expect(try await aggregator.tick().acks(script.key, "watch-1") == [])
        aggregator.store.refuse(false)
        try await aggregator.deliver([batch(0, 10)])
        aggregator.store.refuse(true)
        try await aggregator.deliver([batch(10, 10)])
        clock.advance(by: .seconds(10))
        #expect(try await aggregator.tick().acks(script.key, "watch-1") == [.next(10)])
    }

    @Test func `in any order every stored item is acknowledged within three seconds and no other`() async throws {
        var random = SeededRandom()
        for _ in 0..<20 {
            var aggregator = try await Aggregator(try TemporaryFolder(), clock: clock)
            try await aggregator.deliver([script.stateMessage])
            var (stored, acked) = (0, 0)
            var since: Moment?
            for _ in 0..<60 {
                let isRefused = Int.random(in: 0..<6, using: &random) == 0
                aggregator.store.refuse(isRefused)
                let first = max(0, stored - Int.random(in: -3...8, using: &random))
                let count = Int.random(in: 1...60, using: &random)
                let asks = Int.random(in: 0..<8, using: &random) == 0
                let sent = try await aggregator.deliver([batch(first, count, asksAck: asks)])
                let isNew = first <= stored && first + count > stored && !isRefused
                if isNew {
                    stored = first + count
                    since = since ?? clock.moment
                }
                for case .next(let next) in try sent.acks(script.key, "watch-1") {
                    #expect(next == stored && next >= acked, "seed \(random.seed)")
                    (acked, since) = (next, nil)
                }
                if asks, isNew { #expect(acked == stored, "seed \(random.seed)") }
                clock.advance(by: .milliseconds(Int.random(in: 0...1_500, using: &random)))
                for case .next(let next) in try await aggregator.tick().acks(script.key, "watch-1") {
                    #expect(next == stored, "seed \(random.seed)")
                    (acked, since) = (next, nil)
                }
                #expect(since.map { clock.moment.seconds(since: $0) < 3 } ?? true, "seed \(random.seed)")
            }
        }
    }
}
