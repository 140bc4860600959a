/// Reads forward through a part of a file. Throws at its end.
struct FITCursor {
    private let bytes: [UInt8]
    private let end: Int
    private(set) var offset: Int

    /// - Precondition: `range` is within `bytes`.
    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        offset = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { offset == end }

    mutating func take(_ count: Int) throws(FITError) -> ArraySlice<UInt8> {
        guard count <= end - offset else { throw .truncated(offset: offset, missing: count - (end - offset)) }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    mutating func byte() throws(FITError) -> UInt8 {
        guard offset < end else { throw .truncated(offset: offset, missing: 1) }
        defer { offset += 1 }
        return bytes[offset]
    }

    /// An unsigned number of up to 8 bytes.
    mutating func unsigned(_ size: Int, bigEndian: Bool) throws(FITError) -> UInt64 {
        UInt64(try take(size), bigEndian: bigEndian)
    }
}

extension UInt64 {
    /// The number in up to 8 bytes. Of more than 8 bytes the most significant are lost.
    init(_ bytes: ArraySlice<UInt8>, bigEndian: Bool) {
        self =
            bigEndian
            ? bytes.reduce(0) { $0 << 8 | UInt64($1) }
            : bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
