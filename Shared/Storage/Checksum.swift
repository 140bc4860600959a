/// The CRC-32 of zip and Ethernet, eight bytes at a time.
enum Checksum {
    /// Table `n` has the checksums of a byte followed by `n` zeros.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            tables[byte] = (0..<8).reduce(UInt32(byte)) { value, _ in
                value & 1 == 1 ? value >> 1 ^ 0xedb8_8320 : value >> 1
            }
        }
        for index in 256..<tables.count {
            let shorter = tables[index - 256]
            tables[index] = shorter >> 8 ^ tables[Int(shorter & 255)]
        }
        return tables
    }()

    static func crc32(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        tables.withUnsafeBufferPointer { tables in
            var checksum = UInt32.max
            var index = 0
            while index + 8 <= bytes.count {
                let low = checksum ^ UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
                let high = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index + 4, as: UInt32.self))
                checksum =
                    tables[1_792 + Int(low & 255)] ^ tables[1_536 + Int(low >> 8 & 255)]
                    ^ tables[1_280 + Int(low >> 16 & 255)] ^ tables[1_024 + Int(low >> 24)]
                checksum ^=
                    tables[768 + Int(high & 255)] ^ tables[512 + Int(high >> 8 & 255)]
                    ^ tables[256 + Int(high >> 16 & 255)] ^ tables[Int(high >> 24)]
                index += 8
            }
            while index < bytes.count {
                checksum = checksum >> 8 ^ tables[Int((checksum ^ UInt32(bytes[index])) & 255)]
                index += 1
            }
            return ~checksum
        }
    }
}
