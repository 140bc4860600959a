extension User {
    /// The shard that the session engine works for this user in: the last byte of the CRC-32 of the name.
    package var shard: Shard {
        let checksum = description.utf8.reduce(UInt32.max) { checksum, byte in
            (0..<8).reduce(checksum ^ UInt32(byte)) { value, _ in
                value & 1 == 1 ? value >> 1 ^ 0xedb8_8320 : value >> 1
            }
        }
        return Shard(UInt8(truncatingIfNeeded: ~checksum))
    }
}
