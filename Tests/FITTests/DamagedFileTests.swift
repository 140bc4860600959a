import FIT
import TestSupport
import Testing

/// Reading any bytes ends with a result or an error. A trap would end the whole test run.
struct DamagedFileTests {
    private static let sound = FITFixture.workout(start: 1_700_000_000, duration: 12, pauses: [4...8])

    /// Reads everything in the file.
    @discardableResult
    private static func read(_ bytes: [UInt8]) -> FITActivity? {
        guard let file = try? FITFile(bytes), let activity = try? FITActivity(file) else { return nil }
        for session in activity.sessions { _ = activity.activeSegments(of: session) }
        return activity
    }

    /// The file with matching checksums, so that the damage reaches the decoder.
    private static func repaired(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count >= 16 else { return bytes }
        var bytes = bytes
        let size = UInt32(bytes.count - 16)
        for index in 0..<4 { bytes[4 + index] = UInt8(truncatingIfNeeded: size >> (8 * index)) }
        bytes.replaceSubrange(8..<14, with: Array(".FIT".utf8) + [0, 0])
        bytes[0] = 14
        let checksum = FITChecksum(bytes.dropLast(2)).value
        bytes.replaceSubrange((bytes.count - 2)..., with: [UInt8(checksum & 0xFF), UInt8(checksum >> 8)])
        return bytes
    }

    @Test func `a valid file is read and repairing its checksums changes nothing`() throws {
        let activity = try #require(Self.read(Self.sound))
        #expect(activity.activeSegments.map { $0.upperBound - $0.lowerBound } == [4, 4])
        #expect(Self.read(Self.repaired(Self.sound))?.records == activity.records)
    }

    @Test func `every truncation is refused`() {
        for count in 0..<Self.sound.count {
            #expect(throws: FITError.self, "first \(count) bytes") { try FITFile(Self.sound.prefix(count)) }
        }
    }

    @Test func `every truncation with matching checksums is read without a trap`() {
        for count in 0..<Self.sound.count { Self.read(Self.repaired(Array(Self.sound.prefix(count)))) }
    }

    @Test func `every flipped bit is detected`() {
        for index in Self.sound.indices {
            for bit in 0..<8 {
                var bytes = Self.sound
                bytes[index] ^= 1 << bit
                #expect(throws: FITError.self, "bit \(bit) of byte \(index)") { try FITFile(bytes) }
            }
        }
    }

    @Test func `random damage with matching checksums is read without a trap`() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of damaged FIT files: \(seed)")
        var random = SeededRandom(seed: seed)
        var readable = 0
        for _ in 0..<5_000 {
            var bytes = Self.sound
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                bytes[Int.random(in: 14..<bytes.count, using: &random)] = UInt8.random(
                    in: .min ... .max, using: &random)
            }
            if Self.read(Self.repaired(bytes)) != nil { readable += 1 }
        }
        // Without readable files the test proves nothing.
        #expect(readable > 100, "seed \(seed)")
    }

    @Test func `random bytes in a valid frame are read without a trap`() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of random FIT files: \(seed)")
        var random = SeededRandom(seed: seed)
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...200, using: &random)
            Self.read(Self.repaired((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }))
        }
    }

    @Test func `numbers beyond every range are read without a trap`() throws {
        var fixture = FITFixture()
        let huge = Int(bitPattern: UInt(Double.greatestFiniteMagnitude.bitPattern))
        fixture.add(18, [.init(2, .float64, huge), .init(7, .float64, huge), .init(5, .float64, huge)])
        fixture.add(21, [.init(253, .float64, huge), .init(0, .enumeration, 0), .init(1, .enumeration, 0)])
        fixture.add(20, compressedTime: 3, [.init(253, .float64, huge)])
        fixture.add(20, compressedTime: 3, [.init(3, .uint8, 100)])
        let activity = try #require(Self.read(fixture.bytes))
        #expect(activity.session.sport == nil)
    }
}
