import Foundation
import Workouts

extension Identifier {
    /// The identifier of the copy when a lost session is logged again. It depends on this identifier alone, so that no
    /// session is logged twice.
    ///
    /// A Feistel network keeps different identifiers different, except for the six bits that mark a UUID of version 8
    /// (RFC 9562).
    var successor: Self { derived(0) }

    /// The identifier of another workout of the same file, which depends on this identifier and the number alone.
    func sibling(_ number: Int) -> Self { derived(UInt64(number)) }

    private func derived(_ variant: UInt64) -> Self {
        let bytes = withUnsafeBytes(of: uuid.uuid) { Array($0) }
        var (high, low) = (Self.number(bytes[..<8]), Self.number(bytes[8...]))
        for _ in 0..<2 {
            high ^= Self.mix(low &+ variant)
            low ^= Self.mix(high &+ variant)
        }
        high = high & ~0xF000 | 0x8000
        low = low & (.max >> 2) | (1 << 63)
        var successor = uuid.uuid
        withUnsafeMutableBytes(of: &successor) { bytes in
            bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
            bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return Self(UUID(uuid: successor))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    private static func mix(_ number: UInt64) -> UInt64 {
        var random = SplitMix64(seed: number)
        return random.next()
    }
}
