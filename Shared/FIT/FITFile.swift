/// A decoded FIT file: its messages in file order, those of chained files one after the other.
///
/// Any bytes are accepted as input: invalid files throw and never trap. Checksums are verified; a header checksum may
/// be 0 or missing, as the format allows. Unknown messages and fields are kept.
package struct FITFile: Sendable {
    package let messages: [FITMessage]
    /// Where the file is cut off; `nil` for a whole one.
    package let cut: FITError?

    package init(_ bytes: some Sequence<UInt8>) throws(FITError) {
        try self.init(Array(bytes), upToCut: false)
    }

    /// Reads the whole messages of a file that may end early, as that of a device whose battery went flat.
    package init(upToCut bytes: some Sequence<UInt8>) throws(FITError) {
        try self.init(Array(bytes), upToCut: true)
    }

    private init(_ bytes: [UInt8], upToCut: Bool) throws(FITError) {
        var messages: [FITMessage] = []
        var cut: FITError?
        var offset = 0
        repeat {
            do throws(FITError) {
                let header = try FITHeader(bytes, at: offset, upToCut: upToCut)
                offset = header.end
                if header.isCut { cut = .truncated(offset: bytes.count, missing: header.end - bytes.count) }
                // Each file of a chain starts with new definitions and a new base time for compressed headers.
                var decoder = FITMessageDecoder(FITCursor(bytes, header.data))
                while let message = try decoder.next() { messages.append(message) }
            } catch {
                // Without a message there is nothing to keep.
                guard upToCut, !messages.isEmpty, cut != nil || bytes.count - offset < FITHeader.size,
                    case .truncated = error
                else { throw error }
                cut = error
                break
            }
        } while offset < bytes.count
        self.messages = messages
        self.cut = cut
    }
}

/// The header of one file. Reading it verifies both checksums, unless the file is cut off.
struct FITHeader {
    /// The range of the messages.
    let data: Range<Int>
    /// The end of the file and the start of the next of a chain.
    let end: Int
    /// Whether the file ends before its size. A device that writes the size last leaves 0.
    let isCut: Bool

    private static let signature = Array(".FIT".utf8)
    private static let minimumSize = 12
    private static let checksumSize = 2
    static let size = minimumSize + checksumSize

    init(_ bytes: [UInt8], at offset: Int, upToCut: Bool) throws(FITError) {
        var cursor = FITCursor(bytes, offset..<bytes.count)
        let fixed = try cursor.take(Self.minimumSize)
        guard fixed.suffix(Self.signature.count).elementsEqual(Self.signature) else {
            throw .notFIT(offset: offset)
        }
        let size = Int(bytes[offset])
        switch size {
        case Self.minimumSize: break
        case Self.size:
            let stored = try cursor.unsigned(Self.checksumSize, bigEndian: false)
            guard stored == 0 || stored == UInt64(FITChecksum(fixed).value) else {
                throw .corrupt(
                    offset: cursor.offset - Self.checksumSize, reason: "wrong header checksum")
            }
        default: throw .corrupt(offset: offset, reason: "unknown header size \(size)")
        }
        let dataSize = fixed.dropFirst(4).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        let rest = bytes.count - cursor.offset
        isCut = upToCut && (rest < dataSize + Self.checksumSize || dataSize == 0 && rest > Self.checksumSize)
        guard !isCut else {
            data = cursor.offset..<(cursor.offset + (dataSize == 0 ? rest : min(rest, dataSize)))
            end = max(bytes.count, cursor.offset + dataSize + Self.checksumSize)
            return
        }
        let content = try cursor.take(dataSize)
        data = content.indices
        end = data.upperBound + Self.checksumSize
        let stored = try cursor.unsigned(Self.checksumSize, bigEndian: false)
        guard stored == UInt64(FITChecksum(bytes[offset..<data.upperBound]).value) else {
            throw .corrupt(offset: data.upperBound, reason: "wrong file checksum")
        }
    }
}

/// The checksum of FIT headers and files (CRC-16/ARC), computed by half bytes as in the format's documentation.
package struct FITChecksum {
    package private(set) var value: UInt16 = 0

    private static let table: [UInt16] = [
        0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401,
        0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400,
    ]

    package init() {}

    package init(_ bytes: some Sequence<UInt8>) {
        addBytes(bytes)
    }

    package mutating func addBytes(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            addNibble(UInt16(byte & 0x0F))
            addNibble(UInt16(byte >> 4))
        }
    }

    private mutating func addNibble(_ nibble: UInt16) {
        value = (value >> 4) ^ Self.table[Int(value & 0x0F)] ^ Self.table[Int(nibble)]
    }
}

/// The reason why a file is not readable as FIT. Descriptions name the byte, counted from the start of the file.
package enum FITError: Error, Equatable, CustomStringConvertible {
    /// No FIT file starts here. The file has another format, or other data follows a FIT file.
    case notFIT(offset: Int)
    /// The file ends before the structure at `offset` is complete.
    case truncated(offset: Int, missing: Int)
    /// The file is inconsistent.
    case corrupt(offset: Int, reason: String)
    /// The file is valid, but no session has a start time: it is not a recorded activity.
    case noSession

    /// The byte, counted from the start of the file; 0 for a file without a session.
    package var offset: Int {
        switch self {
        case .notFIT(let offset), .truncated(let offset, _), .corrupt(let offset, _): offset
        case .noSession: 0
        }
    }

    package var description: String {
        switch self {
        case .notFIT(let offset): "not a FIT file: no .FIT signature in the header at byte \(offset)"
        case .truncated(let offset, let missing):
            "truncated FIT file: the structure at byte \(offset) lacks \(missing) bytes"
        case .corrupt(let offset, let reason): "corrupt FIT file at byte \(offset): \(reason)"
        case .noSession: "not a recorded activity: no session in the FIT file has a start time"
        }
    }
}
