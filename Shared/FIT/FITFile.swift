/// A decoded FIT file: its messages in the order of the file, those of chained files one after the other.
///
/// Any bytes may be given; what is not a sound FIT file throws and never traps. Checksums are verified, but for a
/// header's that is 0 or missing, which the format allows. Messages and fields nobody knows are kept as they are.
package struct FITFile: Sendable {
    package let messages: [FITMessage]

    package init(_ bytes: some Sequence<UInt8>) throws(FITError) {
        let bytes = Array(bytes)
        var messages: [FITMessage] = []
        var offset = 0
        repeat {
            let header = try FITHeader(bytes, at: offset)
            // Definitions and the time that compressed headers count from end with each file of a chain.
            var decoder = FITMessageDecoder(FITCursor(bytes, header.data))
            while let message = try decoder.next() { messages.append(message) }
            offset = header.end
        } while offset < bytes.count
        self.messages = messages
    }
}

/// The header of one file, verified together with both checksums.
struct FITHeader {
    /// Where the messages are.
    let data: Range<Int>
    /// Where the file ends and the next of a chain begins.
    var end: Int { data.upperBound + Self.checksumSize }

    private static let signature = Array(".FIT".utf8)
    private static let minimumSize = 12
    private static let checksumSize = 2

    init(_ bytes: [UInt8], at offset: Int) throws(FITError) {
        var cursor = FITCursor(bytes, offset..<bytes.count)
        let fixed = try cursor.take(Self.minimumSize)
        guard fixed.suffix(Self.signature.count).elementsEqual(Self.signature) else {
            throw .notFIT(offset: offset)
        }
        let size = Int(bytes[offset])
        switch size {
        case Self.minimumSize: break
        case Self.minimumSize + Self.checksumSize:
            let stored = try cursor.unsigned(Self.checksumSize, bigEndian: false)
            guard stored == 0 || stored == UInt64(FITChecksum(fixed).value) else {
                throw .corrupt(
                    offset: cursor.offset - Self.checksumSize, reason: "the header's checksum does not match")
            }
        default: throw .corrupt(offset: offset, reason: "a header of \(size) bytes")
        }
        let dataSize = fixed.dropFirst(4).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        let content = try cursor.take(dataSize)
        data = content.indices
        let stored = try cursor.unsigned(Self.checksumSize, bigEndian: false)
        guard stored == UInt64(FITChecksum(bytes[offset..<data.upperBound]).value) else {
            throw .corrupt(offset: data.upperBound, reason: "the file's checksum does not match")
        }
    }
}

/// The checksum of FIT headers and files (CRC-16/ARC), computed half a byte at a time as the format's documents do.
package struct FITChecksum {
    package private(set) var value: UInt16 = 0

    private static let table: [UInt16] = [
        0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401,
        0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400,
    ]

    package init(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            add(nibble: UInt16(byte & 0x0F))
            add(nibble: UInt16(byte >> 4))
        }
    }

    private mutating func add(nibble: UInt16) {
        value = (value >> 4) ^ Self.table[Int(value & 0x0F)] ^ Self.table[Int(nibble)]
    }
}

/// Why a file cannot be read as FIT. Nothing can be done with the file but to get it again; the description tells a
/// person what is wrong, and at which byte, counted from the first byte of the file.
package enum FITError: Error, Equatable, CustomStringConvertible {
    /// No FIT file begins here: it is some other kind of file, or something follows a FIT file that is not one.
    case notFIT(offset: Int)
    /// The file ends, or says that it ends, before what began at `offset` is complete.
    case truncated(offset: Int, missing: Int)
    /// The file contradicts itself.
    case corrupt(offset: Int, reason: String)
    /// The file is sound, but no session in it says when it started: it is not a recorded activity.
    case noSession

    package var description: String {
        switch self {
        case .notFIT(let offset): "not a FIT file: no .FIT signature in the header at byte \(offset)"
        case .truncated(let offset, let missing):
            "the FIT file is cut off: what begins at byte \(offset) lacks \(missing) bytes"
        case .corrupt(let offset, let reason): "the FIT file is damaged at byte \(offset): \(reason)"
        case .noSession: "the FIT file is not a recorded activity: no session in it has a start time"
        }
    }
}
