import FIT

/// Writes FIT files for tests, with the variations that a reader must support.
///
/// A definition is written whenever a message needs a different one for its local type.
package struct FITFixture {
    private let headerSize: Int
    private let headerChecksum: Bool
    private let bigEndian: Bool
    private var data: [UInt8] = []
    private var definitions: [UInt8: [UInt8]] = [:]

    /// - Parameters:
    ///   - headerSize: 14, or 12 for a header without a checksum of its own.
    ///   - headerChecksum: `false` leaves the header's checksum 0, which means none.
    ///   - bigEndian: the byte order of the messages; the header's is fixed.
    package init(headerSize: Int = 14, headerChecksum: Bool = true, bigEndian: Bool = false) {
        self.headerSize = headerSize
        self.headerChecksum = headerChecksum
        self.bigEndian = bigEndian
    }

    /// Appends a message.
    /// - Parameters:
    ///   - compressedTime: the low five bits of its time for a compressed timestamp header; `local` is then at most 3.
    ///   - developer: developer fields, all with developer index 0.
    package mutating func add(
        _ global: UInt16, local: UInt8 = 0, compressedTime: UInt8? = nil, _ fields: [Field], developer: [Field] = []
    ) {
        define(global, local: local, fields, developer: developer)
        data.append(compressedTime.map { 0x80 | local << 5 | $0 & 0x1F } ?? local)
        for field in fields + developer { data += field.bytes(bigEndian: bigEndian) }
    }

    private mutating func define(_ global: UInt16, local: UInt8, _ fields: [Field], developer: [Field]) {
        let number = bigEndian ? [UInt8(global >> 8), UInt8(global & 0xFF)] : global.littleEndianBytes
        var definition = [0x40 | (developer.isEmpty ? 0 : 0x20) | local, 0, bigEndian ? 1 : 0] + number
        definition.append(UInt8(fields.count))
        for field in fields { definition += [field.number, field.size, field.type] }
        if !developer.isEmpty {
            definition.append(UInt8(developer.count))
            for field in developer { definition += [field.number, field.size, 0] }
        }
        guard definitions[local] != definition else { return }
        definitions[local] = definition
        data += definition
    }

    /// The file with header and checksums.
    package var bytes: [UInt8] {
        var file: [UInt8] = [UInt8(headerSize), 0x20] + UInt16(21218).littleEndianBytes
        file += UInt32(data.count).littleEndianBytes + Array(".FIT".utf8)
        if headerSize == 14 { file += (headerChecksum ? FITChecksum(file).value : 0).littleEndianBytes }
        file += data
        return file + FITChecksum(file).value.littleEndianBytes
    }
}

extension FixedWidthInteger {
    var littleEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
    }
}
