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

    private func commit(_ stream: ItemStream<Sample>) -> [(number: Int, bytes: [UInt8])] {
        let staged = stream.stage(saves: true)
        stream.committed()
        return staged.chunks
    }

    @Test func `an expected batch is accepted and counts with its commit`() {
        let stream = ItemStream<Sample>()
        #expect(stream.receive(batch(0, 10)) == .taken)
        #expect(stream.next == 0)
        #expect(commit(stream).map(\.number) == [0])
        #expect(stream.next == 10)
    }

    @Test func `a batch below the expected number is acknowledged again, and a gap is not accepted`() {
        let stream = ItemStream<Sample>()
        _ = stream.receive(batch(0, 10))
        _ = commit(stream)
        #expect(stream.receive(batch(0, 10)) == .repeated)
        #expect(stream.receive(batch(5, 5)) == .repeated)
        #expect(stream.receive(batch(11, 5)) == .gap)
        #expect(stream.pending.isEmpty)
    }

    @Test func `an overlapping batch adds its new part`() {
        let stream = ItemStream<Sample>()
        _ = stream.receive(batch(0, 10))
        #expect(stream.receive(batch(4, 10)) == .taken)
        #expect(stream.pending.compactMap(\.time) == batch(0, 14).items.compactMap(\.time))
    }

    @Test func `a stream with a different first item is refused`() {
        let stream = ItemStream<Sample>()
        _ = stream.receive(batch(0, 10))
        #expect(stream.receive(batch(0, 10, offset: 1)) == .reused)
        #expect(stream.receive(batch(0, 10)) == .repeated)
    }

    @Test func `uncommitted items are expected again`() {
        let stream = ItemStream<Sample>()
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
                for chunk in commit(stream) { stored[chunk.number] = chunk.bytes }
                if Bool.random(using: &random), let last = stored.keys.max() {
                    stream = try ItemStream<Sample>(first: stored[0]!, last: stored[last]!, number: last)
                }
            }
            let samples = try stored.sorted { $0.key < $1.key }.flatMap { try ItemChunk<Sample>.items($0.value) }
            #expect(samples == batch(0, total).items, "seed \(random.seed)")
            #expect(stream.receive(batch(0, 1, offset: 1)) == .reused)
        }
    }

    // MARK: Distances

    private func sample(_ second: Double?, _ meters: Double? = nil) -> Sample {
        var sample = Sample(time: second.map { Timestamp(seconds: 1_700_000_000 + $0) })
        if second != nil { sample[.distance] = meters }
        return sample
    }

    @Test func `metres that imply more than 60 m/s are dropped and named`() throws {
        let stream = ItemStream<Sample>()
        let items = [
            sample(0, 9_000), sample(1, 9_000), sample(21, 1_200), sample(22, 900), sample(22, 900),
            sample(21.5, 900.5), sample(nil), sample(41.5, 1_200.5),
        ]
        let outcome = stream.receive(SampleBatch(first: 0, items: items))
        guard case .corrected(let error)? = outcome else { throw CorruptChunk() }
        #expect(
            error.text == "item 1: d is more than 60 m/s: 9000.0 m in 1.0 s since the previous item; it was dropped")
        #expect([error.field, error.value, error.reason] == ["d", "9000.0", "flawed_items"] && error.item == 1)
        // Item 0 has no item before it: its metres count from 0 at a time that the stream does not know.
        #expect(stream.pending.map { $0[.distance] } == [9_000, nil, 1_200, 900, 900, nil, nil, nil])
        #expect(stream.pending[1].time == items[1].time)
    }

    /// The rule over the whole stream, without batches.
    private func kept(_ items: [Sample]) -> [Double?] {
        var last: Timestamp?
        return items.map { item in
            defer { last = item.time ?? last }
            guard let meters = item[.distance], let time = item.time, let last else { return item[.distance] }
            return meters > 60 * max(15, time.seconds(since: last)) ? nil : meters
        }
    }

    @Test func `every arrival of a stream stores the same distances`() throws {
        var random = SeededRandom()
        for _ in 0..<60 {
            var second = 0.0
            // Long runs without a time reach beyond a chunk.
            let items = (0..<Int.random(in: 1...700, using: &random)).flatMap { _ -> [Sample] in
                second += [0, 0.5, 1, 2, 30, -1].randomElement(using: &random)!
                let empty = Int.random(in: 0..<100, using: &random) == 0 ? Int.random(in: 1...300, using: &random) : 0
                return Array(repeating: sample(nil), count: empty)
                    + [sample(second, [nil, 3, 899, 901, 1_799, 1_801, 2_000].randomElement(using: &random)!)]
            }
            var stream = ItemStream<Sample>()
            var stored: [Int: [UInt8]] = [:]
            while stream.next < items.count {
                let first = Int.random(in: max(0, stream.next - 20)...stream.next, using: &random)
                let end = min(items.count, first + Int.random(in: 1...200, using: &random))
                _ = stream.receive(SampleBatch(first: first, items: Array(items[first..<end])))
                guard Int.random(in: 0..<8, using: &random) > 0 else {
                    stream.discardPending()
                    continue
                }
                for chunk in commit(stream) { stored[chunk.number] = chunk.bytes }
                guard Bool.random(using: &random), let last = stored.keys.max() else { continue }
                // As the service does after a restart.
                var found = try StoredStream<Sample>(first: stored[0]!, last: stored[last]!, number: last)
                if !found.knowsLastTime { found = StoredStream((0...last).map { stored[$0]! }[...]) }
                stream = ItemStream(found)
            }
            let samples = try stored.sorted { $0.key < $1.key }.flatMap { try ItemChunk<Sample>.items($0.value) }
            #expect(samples.map { $0[.distance] } == kept(items), "seed \(random.seed)")
        }
    }
}
