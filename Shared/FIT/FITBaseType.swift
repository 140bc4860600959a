/// The encoding of a field. The raw value is the type's number: the low five bits of the byte in a definition.
package enum FITBaseType: UInt8, CaseIterable, Sendable {
    case enumeration, sint8, uint8, sint16, uint16, sint32, uint32, string, float32, float64
    case uint8z, uint16z, uint32z, byte, sint64, uint64, uint64z

    /// The type of a definition's byte. Ignores the top bit, which marks types longer than a byte.
    init?(code: UInt8) { self.init(rawValue: code & 0x1F) }

    /// The byte for the type in a definition.
    package var code: UInt8 { size > 1 ? rawValue | 0x80 : rawValue }

    /// Bytes of one element.
    package var size: Int {
        switch self {
        case .enumeration, .sint8, .uint8, .string, .uint8z, .byte: 1
        case .sint16, .uint16, .uint16z: 2
        case .sint32, .uint32, .float32, .uint32z: 4
        case .float64, .sint64, .uint64, .uint64z: 8
        }
    }

    /// The value in a field's bytes; `nil` if the device marked all of it as invalid. Bytes that do not divide into
    /// elements of the type are returned unchanged.
    func value(_ bytes: ArraySlice<UInt8>, bigEndian: Bool) -> FITValue? {
        switch self {
        case .string:
            let text = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            return text.isEmpty ? nil : .text(text)
        case _ where self == .byte || bytes.count % size != 0:
            return FITValue(raw: bytes)
        case _ where bytes.count == size:
            return number(UInt64(bytes, bigEndian: bigEndian)).map(FITValue.number)
        default:
            let numbers = stride(from: bytes.startIndex, to: bytes.endIndex, by: size).map {
                number(UInt64(bytes[$0..<$0 + size], bigEndian: bigEndian))
            }
            return numbers.contains { $0 != nil } ? .numbers(numbers) : nil
        }
    }

    /// The number in an element's bits; `nil` for the type's invalid value.
    private func number(_ bits: UInt64) -> Double? {
        switch self {
        case .enumeration, .uint8, .uint16, .uint32, .uint64:
            bits == UInt64.max >> (64 - 8 * size) ? nil : Double(bits)
        case .uint8z, .uint16z, .uint32z, .uint64z:
            bits == 0 ? nil : Double(bits)
        case .sint8, .sint16, .sint32, .sint64:
            bits == UInt64.max >> (65 - 8 * size) ? nil : Double(signed(bits))
        case .float32: finite(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
        case .float64: finite(Double(bitPattern: bits))
        case .string, .byte: nil
        }
    }

    private func signed(_ bits: UInt64) -> Int64 {
        let unused = 64 - 8 * size
        return Int64(bitPattern: bits << unused) >> unused
    }

    /// `nil` for NaN and infinity. The invalid value of floats is one of many NaNs, and none of them is usable.
    private func finite(_ number: Double) -> Double? { number.isFinite ? number : nil }
}
