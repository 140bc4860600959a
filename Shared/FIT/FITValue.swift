/// What a field holds. A value that the device marked as invalid is not a value: the field is absent, or the element
/// nil.
package enum FITValue: Equatable, Sendable {
    /// One number as it is stored, without scale and offset. Whole numbers beyond 2⁵³ are rounded.
    case number(Double)
    /// An array of more than one number, at least one of them present.
    case numbers([Double?])
    /// Text up to its first zero byte, never empty.
    case text(String)
    /// Bytes that stand for themselves, or of a type nobody knows; not all of them 0xFF.
    case bytes([UInt8])

    init?(raw bytes: ArraySlice<UInt8>) {
        guard bytes.contains(where: { $0 != 0xFF }) else { return nil }
        self = .bytes(Array(bytes))
    }
}
