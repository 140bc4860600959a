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
