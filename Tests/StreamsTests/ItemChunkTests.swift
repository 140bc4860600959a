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
            let values = [value, value.rounded(), (value * 1000).rounded() / 1000].shuffled(using: &random)
            let count = quantity.isList ? Int.random(in: 1...3, using: &random) : 1
            sample[all: quantity] = Array(values.prefix(count))
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

    @Test func `items have a fixed stored form`() throws {
        // An item with nine quantities, an empty one and one with two.
        let bytes: [UInt8] = [
            0xff, 0x7, 0xa0, 0xc2, 0x90, 0x82, 0x83, 0x89, 0x85, 0x6, 0xf0, 0x8, 0xf1, 0xab, 0x1, 0x91,
            0xd, 0x2, 0xb, 0x50, 0x12, 0x8b, 0xa, 0xbf, 0x5, 0x40, 0x18, 0xd8, 0xa, 0xa1, 0xa8, 0x7a,
            0x91, 0x3a, 0xdd, 0xda, 0x1, 0x0, 0x83, 0x4, 0x80, 0x89, 0x7a, 0xf8, 0x8, 0xa8, 0x1,
        ]
        var all = Sample(time: Timestamp(microseconds: 1_700_000_000_250_000))
        let values: [(Quantity, Double)] = [
            (.heartRate, 142), (.distance, 2.75), (.activeEnergy, 0.21), (.speed, 2.7182818284), (.steps, 3),
            (.cadence, 171), (.power, 250.5), (.battery, 0.93), (.temperature, -3.5),
        ]
        for (quantity, value) in values { all[quantity] = value }
        var two = Sample(time: Timestamp(microseconds: 1_700_000_001_250_000))
        two[.heartRate] = 143
        two[.temperature] = 21
        #expect(try ItemChunk<Sample>.items(bytes) == [all, Sample(), two])
        var chunk = ItemChunk<Sample>()
        for item in [all, Sample(), two] { chunk.append(item) }
        #expect(chunk.bytes == bytes)
    }

    @Test func `a chunk with a field of a newer version is refused`() throws {
        // The flags of an item with the field after the last.
        var flags = UInt64(2) << UInt64(Quantity.allCases.count)
        var bytes: [UInt8] = []
        while flags >= 0x80 {
            bytes.append(UInt8(flags & 0x7F) | 0x80)
            flags >>= 7
        }
        #expect(throws: CorruptChunk.self) { try ItemChunk<Sample>.items(bytes + [UInt8(flags), 4]) }
    }

    @Test(arguments: [Int64.min, -4_000_000_000_000_000_001, 4_000_000_000_000_000_001, .max])
    func `a time from which no difference can be computed is refused`(time: Int64) {
        var chunk = ItemChunk<Sample>()
        chunk.append(Sample(time: Timestamp(microseconds: time)))
        #expect(throws: CorruptChunk.self) { try ItemChunk<Sample>.items(chunk.bytes) }
        #expect(throws: CorruptChunk.self) { try ItemChunk<Sample>(stored: chunk.bytes) }
    }

    @Test(arguments: [-1, 1e300, .infinity])
    func `a value that no batch can bring is left out`(value: Double) throws {
        for quantity in [Quantity.heartRate, .distance] {
            var sample = Sample(time: Timestamp(seconds: 1_700_000_000))
            sample[.cadence] = 80
            let expected = sample
            sample[quantity] = value
            var chunk = ItemChunk<Sample>()
            chunk.append(sample)
            #expect(try ItemChunk<Sample>.items(chunk.bytes) == [expected])
        }
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
