import Bus
import TestSupport
import Testing
import Workouts

@testable import Streams

/// The rule of acknowledgement: each number once, in order, and only when it is on disk.
struct ItemStreamTests {
    private func batch(_ first: Int, _ count: Int, offset: Double = 0) -> SampleBatch {
        SampleBatch(
            first: first,
            items: (first..<first + count).map { Sample(time: Timestamp(seconds: 1_700_000_000 + offset + Double($0))) }
        )
    }

    private func commit(_ stream: inout ItemStream<Sample>) -> [(number: Int, bytes: [UInt8])] {
        let chunks = stream.stage()
        stream.committed()
        return chunks
    }

    @Test func `an expected batch is accepted and counts with its commit`() {
        var stream = ItemStream<Sample>()
        #expect(stream.receive(batch(0, 10)) == .taken)
        #expect(stream.next == 0)
        #expect(commit(&stream).map(\.number) == [0])
        #expect(stream.next == 10)
    }

    @Test func `a batch below the expected number is acknowledged again, and a gap is not accepted`() {
        var stream = ItemStream<Sample>()
        _ = stream.receive(batch(0, 10))
        _ = commit(&stream)
        #expect(stream.receive(batch(0, 10)) == .repeated)
        #expect(stream.receive(batch(5, 5)) == .repeated)
        #expect(stream.receive(batch(11, 5)) == .gap)
        #expect(stream.pending.isEmpty)
    }

    @Test func `an overlapping batch adds its new part`() {
        var stream = ItemStream<Sample>()
        _ = stream.receive(batch(0, 10))
        #expect(stream.receive(batch(4, 10)) == .taken)
        #expect(stream.pending.compactMap(\.time) == batch(0, 14).items.compactMap(\.time))
    }

    @Test func `a stream with a different first item is refused`() {
        var stream = ItemStream<Sample>()
        _ = stream.receive(batch(0, 10))
        #expect(stream.receive(batch(0, 10, offset: 1)) == .reused)
        #expect(stream.receive(batch(0, 10)) == .repeated)
    }

    @Test func `uncommitted items are expected again`() {
        var stream = ItemStream<Sample>()
        _ = stream.receive(batch(0, 10))
        _ = stream.stage()
        stream.discardPending()
        #expect(stream.next == 0)
        #expect(stream.receive(batch(0, 5, offset: 1)) == .taken)
    }

    @Test func `a stream continues from the store at any position`() throws {
        var random = SeededRandom()
        for _ in 0..<30 {
            let total = Int.random(in: 1...600, using: &random)
            var stream = ItemStream<Sample>()
            var stored: [Int: [UInt8]] = [:]
            while stream.next < total {
                let first = Int.random(in: max(0, stream.next - 20)...stream.next, using: &random)
                let count = min(total - first, Int.random(in: 1...200, using: &random))
                _ = stream.receive(batch(first, count))
                for chunk in commit(&stream) { stored[chunk.number] = chunk.bytes }
                if Bool.random(using: &random), let last = stored.keys.max() {
                    stream = try ItemStream<Sample>(first: stored[0]!, last: stored[last]!, number: last)
                }
            }
            let samples = try stored.sorted { $0.key < $1.key }.flatMap { try ItemChunk<Sample>.items($0.value) }
            #expect(samples == batch(0, total).items, "seed \(random.seed)")
            #expect(stream.receive(batch(0, 1, offset: 1)) == .reused)
        }
    }
}
