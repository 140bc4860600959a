import TestSupport
import Testing
import Workouts

@testable import Streams

struct ItemChunkTests {
    /// A sample with any subset of quantities, its values whole, with few decimals, or arbitrary.
    private func sample(_ random: inout SeededRandom) -> Sample {
        var sample = Sample()
        guard Int.random(in: 0..<10, using: &random) > 0 else { return sample }
        sample.time = Timestamp(microseconds: Int64.random(in: 0...4_000_000_000_000_000, using: &random))
        for quantity in Quantity.allCases where Bool.random(using: &random) {
            let value = Double.random(in: quantity.range, using: &random)
            sample[quantity] = [value, value.rounded(), (value * 1000).rounded() / 1000].randomElement(using: &random)
        }
        return sample
    }

    @Test func `every item is decoded exactly as encoded`() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let samples = (0..<Int.random(in: 0...ItemChunk<Sample>.capacity, using: &random)).map { _ in
                sample(&random)
            }
            var chunk = ItemChunk<Sample>()
            for sample in samples { chunk.append(sample) }
            #expect(try ItemChunk<Sample>.items(chunk.bytes) == samples)
            #expect(try ItemChunk<Sample>(stored: chunk.bytes) == chunk)
        }
    }

    @Test func `a stored chunk continues where it ended`() throws {
        var random = SeededRandom()
        let samples = (0..<ItemChunk<Sample>.capacity).map { _ in sample(&random) }
        var whole = ItemChunk<Sample>()
        var parts = ItemChunk<Sample>()
        for (index, sample) in samples.enumerated() {
            whole.append(sample)
            parts.append(sample)
            if index % 10 == 0 { parts = try ItemChunk<Sample>(stored: parts.bytes) }
        }
        #expect(parts == whole)
        #expect(whole.isFull)
    }

    @Test func `damaged bytes never trap`() {
        var random = SeededRandom()
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 1...60, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            _ = try? ItemChunk<Sample>.items(bytes)
        }
        #expect(throws: CorruptChunk.self) { try ItemChunk<Sample>.items([0x80]) }
        #expect(throws: CorruptChunk.self) { try ItemChunk<Sample>.items([2, 2, 0, 0]) }
    }
}
