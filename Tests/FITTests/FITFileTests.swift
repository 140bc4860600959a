import FIT
import TestSupport
import Testing

struct FITFileTests {
    private static func fixture(headerSize: Int = 14, headerChecksum: Bool = true) -> FITFixture {
        var fixture = FITFixture(headerSize: headerSize, headerChecksum: headerChecksum)
        fixture.add(0, [.init(0, .enumeration, 4)])
        fixture.add(20, local: 1, [.time(253, 1_700_000_000), .init(3, .uint8, 140)])
        return fixture
    }

    @Test func `the checksum matches the published check value`() {
        #expect(FITChecksum("123456789".utf8).value == 0xBB3D)
    }

    @Test(arguments: [(14, true), (14, false), (12, false)])
    func `a header of either size is read with or without its checksum`(size: Int, checksum: Bool) throws {
        let file = try FITFile(Self.fixture(headerSize: size, headerChecksum: checksum).bytes)
        #expect(file.messages.map(\.global) == [0, 20])
    }

    @Test func `messages of chained files are consecutive and definitions do not carry over`() throws {
        let bytes = Self.fixture().bytes
        #expect(try FITFile(bytes + bytes).messages.map(\.global) == [0, 20, 0, 20])

        var undefined = bytes
        // A message of the first file's local type 1 replaces the second file's definition and message.
        var second = Array(FITFixture().bytes.dropLast(2))
        second[4] = 1
        let size = second.count
        let checksum = FITChecksum(second[..<12]).value
        second[12] = UInt8(checksum & 0xFF)
        second[13] = UInt8(checksum >> 8)
        second.append(0x01)
        let whole = FITChecksum(second).value
        undefined += second + [UInt8(whole & 0xFF), UInt8(whole >> 8)]
        #expect(
            throws: FITError.corrupt(
                offset: bytes.count + size, reason: "undefined local message type 1")
        ) { try FITFile(undefined) }
    }

    @Test func `a wrong header checksum is refused at its offset`() {
        var bytes = Self.fixture().bytes
        bytes[12] ^= 1
        #expect(throws: FITError.corrupt(offset: 12, reason: "wrong header checksum")) {
            try FITFile(bytes)
        }
    }

    @Test func `a wrong file checksum is refused at its offset`() {
        var bytes = Self.fixture().bytes
        bytes[bytes.count - 3] ^= 1
        #expect(throws: FITError.corrupt(offset: bytes.count - 2, reason: "wrong file checksum")) {
            try FITFile(bytes)
        }
    }

    @Test func `other files and truncated FIT files have different errors`() {
        #expect(throws: FITError.notFIT(offset: 0)) { try FITFile(Array("<?xml version='1.0'?><gpx/>".utf8)) }
        #expect(throws: FITError.truncated(offset: 0, missing: 12)) { try FITFile([]) }
        #expect(throws: FITError.truncated(offset: 14, missing: 1)) {
            let bytes = Self.fixture().bytes
            return try FITFile(bytes.dropLast(3))
        }
        let bytes = Self.fixture().bytes
        #expect(throws: FITError.notFIT(offset: bytes.count)) {
            try FITFile(bytes + Array(repeating: 0, count: 14))
        }
    }

    @Test func `an unknown header size is refused`() {
        var bytes = Self.fixture().bytes
        bytes[0] = 13
        #expect(throws: FITError.corrupt(offset: 0, reason: "unknown header size 13")) { try FITFile(bytes) }
    }

    @Test func `descriptions name the error and its offset`() {
        #expect(FITError.truncated(offset: 14, missing: 3).description.contains("byte 14 lacks 3 bytes"))
        #expect(FITError.corrupt(offset: 12, reason: "why").description.contains("byte 12: why"))
        #expect(FITError.notFIT(offset: 7).description.contains("byte 7"))
    }
}
