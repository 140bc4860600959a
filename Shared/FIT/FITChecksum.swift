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
