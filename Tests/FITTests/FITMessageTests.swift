import FIT
import TestSupport
import Testing

struct FITMessageTests {
    /// The messages of a file with one message per list of fields.
    private static func messages(
        _ lists: [FITFixture.Field]..., global: UInt16 = 20, bigEndian: Bool = false
    ) throws -> [FITMessage] {
        var fixture = FITFixture(bigEndian: bigEndian)
        for fields in lists { fixture.add(global, fields) }
        return try FITFile(fixture.bytes).messages
    }

    @Test(arguments: [false, true])
    func `numbers of every type are read in both byte orders`(bigEndian: Bool) throws {
        let message = try Self.messages(
            [
                .init(1, .enumeration, 7), .init(2, .sint8, -3), .init(3, .uint8, 200), .init(4, .sint16, -300),
                .init(5, .uint16, 60_000), .init(6, .sint32, -70_000), .init(7, .uint32, 4_000_000_000),
                .init(8, .uint8z, 9), .init(9, .uint16z, 1000), .init(10, .uint32z, 100_000), .float32(11, -1.5),
                .init(12, .sint64, -5_000_000_000), .init(13, .uint64, 5_000_000_000), .init(14, .uint64z, 1),
                .init(15, .float64, Int(bitPattern: UInt(0.1.bitPattern))),
            ], bigEndian: bigEndian)[0]
        let expected: [UInt8: Double] = [
            1: 7, 2: -3, 3: 200, 4: -300, 5: 60_000, 6: -70_000, 7: 4_000_000_000, 8: 9, 9: 1000, 10: 100_000, 11: -1.5,
            12: -5_000_000_000, 13: 5_000_000_000, 14: 1, 15: 0.1,
        ]
        #expect(message.fields == expected.mapValues(FITValue.number))
    }

    @Test func `invalid values are absent`() throws {
        let message = try Self.messages(
            [
                .init(1, .enumeration, 0xFF), .init(2, .sint8, 0x7F), .init(3, .uint8, 0xFF), .init(4, .sint16, 0x7FFF),
                .init(5, .uint16, 0xFFFF), .init(6, .sint32, 0x7FFF_FFFF), .init(7, .uint32, 0xFFFF_FFFF),
                .init(8, .uint8z, 0), .init(9, .uint16z, 0), .init(10, .uint32z, 0),
                .float32(11, Float(bitPattern: 0xFFFF_FFFF)), .init(12, .sint64, Int.max), .init(13, .uint64, -1),
                .init(14, .uint64z, 0), .init(15, .float64, -1), .init(16, .byte, 0xFF, 0xFF), .string(17, "", size: 4),
                .init(18, .uint16, 0xFFFF, 0xFFFF), .init(19, .uint16), .init(20, .uint8, 0),
            ])[0]
        #expect(message.fields == [20: .number(0)])
    }

    @Test(arguments: [false, true])
    func `arrays keep the positions of invalid elements`(bigEndian: Bool) throws {
        let message = try Self.messages(
            [.init(1, .uint16, 0xFFFF, 5, 600), .init(2, .byte, 0xFF, 1), .string(3, "Überfahrt", size: 16)],
            bigEndian: bigEndian)[0]
        #expect(message.fields[1] == .numbers([nil, 5, 600]))
        #expect(message.number(FITProfile.Record.longitude) == 5.0 * 180 / 2_147_483_648, "the first valid element")
        #expect(message.fields[2] == .bytes([0xFF, 1]))
        #expect(message.fields[3] == .text("Überfahrt"))
    }

    @Test func `text that fills its field and text that is not UTF-8 are read`() throws {
        let message = try Self.messages(
            [
                .string(1, "abcd", size: 4),
                .init(2, type: FITBaseType.string.code, elements: [[0x61], [0xFF], [0], [0x62]]),
            ])[0]
        #expect(message.fields == [1: .text("abcd"), 2: .text("a\u{FFFD}")])
    }

    @Test func `fields of unknown types or wrong sizes are kept as bytes`() throws {
        let message = try Self.messages(
            [
                .init(1, type: 0x9F, elements: [[1], [2], [3]]), .init(2, type: 0x86, elements: [[1], [2], [3]]),
                .init(3, .uint8, 150),
            ])[0]
        #expect(message.fields == [1: .bytes([1, 2, 3]), 2: .bytes([1, 2, 3]), 3: .number(150)])
    }

    @Test func `scale and offset convert values to their units`() throws {
        let record = try Self.messages(
            [
                .time(253, 1_700_000_000), .init(0, .sint32, -1_073_741_824), .init(2, .uint16, 2750),
                .init(5, .uint32, 123_456), .init(6, .uint16, 3456),
            ])[0]
        #expect(record.timestamp == 1_700_000_000)
        #expect(record.number(FITProfile.Record.latitude) == -90)
        #expect(record.number(FITProfile.Record.altitude) == 50)
        #expect(record.number(FITProfile.Record.distance) == 1234.56)
        #expect(record.number(FITProfile.Record.speed) == 3.456)
    }

    @Test func `a set has its time in its own field`() throws {
        let set = try Self.messages(
            [.time(254, 1_700_000_000), .init(4, .uint16, 1000), .init(3, .uint16, 8)], global: 225)[0]
        #expect(set.timestamp == nil)
        #expect(set.number(FITProfile.Set.timestamp) == 1_700_000_000)
        #expect(set.number(FITProfile.Set.weight) == 62.5)
        #expect(set.integer(FITProfile.Set.repetitions) == 8)
    }

    @Test func `unknown messages are kept and have no effect on others`() throws {
        var fixture = FITFixture()
        fixture.add(20, [.init(3, .uint8, 140)])
        fixture.add(0xFF00, local: 1, [.init(3, .uint16, 1, 2, 3), .init(200, .uint8, 4)])
        fixture.add(20, [.init(3, .uint8, 141)])
        let messages = try FITFile(fixture.bytes).messages
        #expect(messages.map(\.global) == [20, 0xFF00, 20])
        #expect(messages[1].fields == [3: .numbers([1, 2, 3]), 200: .number(4)])
        #expect(messages[2].number(FITProfile.Record.heartRate) == 141)
    }

    @Test func `a local type can be redefined`() throws {
        let messages = try Self.messages([.init(3, .uint8, 140)], [.init(7, .uint16, 250), .init(3, .uint8, 141)])
        #expect(messages.map { $0.number(FITProfile.Record.heartRate) } == [140, 141])
        #expect(messages.map { $0.number(FITProfile.Record.power) } == [nil, 250])
    }

    @Test(arguments: [false, true])
    func `developer fields are separate from profile fields of the same number`(bigEndian: Bool) throws {
        var fixture = FITFixture(bigEndian: bigEndian)
        fixture.add(20, [.init(3, .uint8, 140)], developer: [.init(3, .uint8, 99), .init(7, .uint16, 0x0102)])
        fixture.add(20, [.init(3, .uint8, 141)])
        let messages = try FITFile(fixture.bytes).messages
        #expect(messages[0].fields == [3: .number(140)])
        #expect(messages[0].developerFields.map(\.developer) == [0, 0])
        #expect(messages[0].developerFields.map(\.number) == [3, 7])
        #expect(messages[0].developerFields.map(\.bytes) == [[99], bigEndian ? [1, 2] : [2, 1]])
        #expect(messages[1].fields == [3: .number(141)])
        #expect(messages[1].developerFields.isEmpty)
    }

    @Test func `compressed timestamps count from the latest time`() throws {
        let start = 631_065_600 + 1000 * 32 + 30
        var fixture = FITFixture()
        fixture.add(20, local: 1, compressedTime: 5, [.init(3, .uint8, 100)])
        fixture.add(20, local: 0, [.time(253, start), .init(3, .uint8, 101)])
        // 30, 31, then twice beyond 32; equal five bits mean the same moment.
        for bits: UInt8 in [30, 31, 0, 1, 1, 0] {
            fixture.add(20, local: 1, compressedTime: bits, [.init(3, .uint8, 102)])
        }
        fixture.add(20, local: 3, compressedTime: 31, [.time(253, start + 100), .init(3, .uint8, 103)])
        fixture.add(20, local: 1, compressedTime: 3, [.init(3, .uint8, 104)])
        let times = try FITFile(fixture.bytes).messages.map { $0.timestamp.map { Int($0) - start } }
        #expect(times == [nil, 0, 0, 1, 2, 3, 3, 34, 100, 101])
    }
}
