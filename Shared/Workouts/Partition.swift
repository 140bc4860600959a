/// One of several brokers, each with a part of the accounts.
package enum Partition {
    /// The partition of an account, from 0: the CRC-32 of its name modulo the number of brokers, as HAProxy computes it with
    /// `crc32` and `mod`.
    package static func index(of account: some StringProtocol, among count: Int) -> Int {
        Int(checksum(of: account) % UInt32(count))
    }

    /// The CRC-32 of zip and Ethernet.
    static func checksum(of name: some StringProtocol) -> UInt32 {
        ~name.utf8.reduce(UInt32.max) { checksum, byte in
            (0..<8).reduce(checksum ^ UInt32(byte)) { value, _ in
                value & 1 == 1 ? value >> 1 ^ 0xedb8_8320 : value >> 1
            }
        }
    }
}
