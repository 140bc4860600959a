import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator

struct SampleChunkTests {
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

    @Test func `every item comes back exactly as it was`() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let samples = (0..<Int.random(in: 0...SampleChunk.capacity, using: &random)).map { _ in sample(&random) }
            var chunk = SampleChunk()
            for sample in samples { chunk.append(sample) }
            #expect(try SampleChunk.samples(chunk.bytes) == samples)
            #expect(try SampleChunk(stored: chunk.bytes) == chunk)
        }
    }

    @Test func `a stored chunk goes on where it ended`() throws {
        var random = SeededRandom()
        let samples = (0..<SampleChunk.capacity).map { _ in sample(&random) }
        var whole = SampleChunk()
        var parts = SampleChunk()
        for (index, sample) in samples.enumerated() {
            whole.append(sample)
            parts.append(sample)
            if index % 10 == 0 { parts = try SampleChunk(stored: parts.bytes) }
        }
        #expect(parts == whole)
        #expect(whole.isFull)
    }

    @Test func `damaged bytes are refused or read as something else, and never trap`() {
        var random = SeededRandom()
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 1...60, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            _ = try? SampleChunk.samples(bytes)
        }
        #expect(throws: SampleChunk.Corrupt.self) { try SampleChunk.samples([0x80]) }
        #expect(throws: SampleChunk.Corrupt.self) { try SampleChunk.samples([2, 2, 0, 0]) }
    }
}
