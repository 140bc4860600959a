import FIT
import TestSupport
import Testing

/// Lengths of a pool, and beats that a strap kept.
struct SwimmingTests {
    private static let start = 1_700_000_000

    private static func activity(_ add: (inout FITFixture) -> Void) throws -> FITActivity {
        var fixture = FITFixture()
        add(&fixture)
        fixture.add(18, local: 3, [.time(2, start), .init(7, .uint32, 60_000), .init(44, .uint16, 2_500)])
        return try FITActivity(FITFile(fixture.bytes))
    }

    @Test func `a length has its end from its duration, not from the time of the message`() throws {
        let activity = try Self.activity { fixture in
            fixture.add(
                101,
                [
                    .time(253, Self.start + 31), .time(2, Self.start), .init(3, .uint32, 22_062), .init(5, .uint16, 7),
                    .init(6, .uint16, 1_133), .init(9, .uint8, 19), .init(12, .enumeration, 1),
                ])
            fixture.add(
                101, local: 1, [.time(253, Self.start + 40), .time(2, Self.start + 22), .init(12, .enumeration, 0)])
            fixture.add(101, local: 2, [.time(253, Self.start + 40), .init(12, .enumeration, 1)])
        }
        #expect(activity.session.poolLength == 25)
        #expect(activity.lengths.count == 2)
        let length = try #require(activity.lengths.first)
        #expect(abs(length.end - Double(Self.start) - 22.062) < 1e-6)
        #expect(length.isActive && length.strokes == 7 && length.averageCadence == 19 && length.averageSpeed == 1.133)
        #expect(activity.lengths[1].end == Double(Self.start + 40) && !activity.lengths[1].isActive)
    }

    /// Twelve bits for each number, low bits first.
    private static func packed(_ ticks: [Int]) -> FITFixture.Field {
        let bytes = stride(from: 0, to: ticks.count, by: 2).flatMap { index -> [UInt8] in
            let bits = ticks[index] & 0xFFF | (ticks[index + 1] & 0xFFF) << 12
            return (0..<3).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
        }
        return FITFixture.Field(10, type: FITBaseType.byte.code, elements: bytes.map { [$0] })
    }

    @Test(arguments: [false, true])
    func `the beats of a strap are timed by its own clock`(bigEndian: Bool) throws {
        // The strap's clock passes a multiple of 4 s in each message.
        let zero = 221_671 * 1_024 + 500
        let beats = [0, 460, 930, 3_300, 3_700, 4_200, 7_100, 8_100]
        var fixture = FITFixture(bigEndian: bigEndian)
        fixture.add(
            132,
            [.time(253, Self.start), .init(0, .uint16, 16_384), .init(6, .uint8, 132), .init(9, .uint32, zero)])
        fixture.add(
            132, local: 1,
            [
                FITFixture.Field(6, type: FITBaseType.uint8.code, elements: (0..<8).map { [UInt8(100 + $0)] }),
                Self.packed(beats.map { zero + 10 + $0 }),
            ])
        fixture.add(18, local: 3, [.time(2, Self.start), .init(7, .uint32, 60_000)])
        let activity = try FITActivity(FITFile(fixture.bytes))
        #expect(activity.heartRates.map(\.rate) == [132] + (0..<8).map { Double(100 + $0) })
        let times = activity.heartRates.map { $0.time - Double(Self.start) }
        for (time, ticks) in zip(times, [-10] + beats) {
            #expect(abs(time - 0.5 - Double(ticks + 10) / 1_024) < 1e-5)
        }
    }

    @Test func `beats before a message that names their time are left out`() throws {
        let activity = try Self.activity { fixture in
            fixture.add(132, [.init(6, .uint8, 100, 101), Self.packed([5, 9])])
            fixture.add(132, local: 1, [.init(6, .uint8, 100), .init(9, .uint32, 7)])
        }
        #expect(activity.heartRates.isEmpty)
    }
}
