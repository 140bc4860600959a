/// A field of a message in the FIT profile: number, type, and conversion between stored number and unit.
package struct FITField: Sendable {
    package let number: UInt8
    /// The type for writing. A reader uses the type that the file declares.
    let type: FITBaseType
    let scale: Double
    let offset: Double
    /// Whether a value out of range is written as the nearest possible one. Times and positions are not: the nearest
    /// would be another time or position.
    let isClamped: Bool

    /// stored = (value + offset) × scale
    package init(_ number: UInt8, _ type: FITBaseType, scale: Double = 1, offset: Double = 0, isClamped: Bool = true) {
        self.number = number
        self.type = type
        self.scale = scale
        self.offset = offset
        self.isClamped = isClamped
    }

    /// A time in Unix seconds.
    static func time(_ number: UInt8) -> FITField {
        FITField(number, .uint32, offset: -FITProfile.unixEpoch, isClamped: false)
    }

    /// A latitude or longitude in degrees.
    static func degrees(_ number: UInt8) -> FITField {
        FITField(number, .sint32, scale: 2_147_483_648 / 180, isClamped: false)
    }

    package func value(_ stored: Double) -> Double { stored / scale - offset }
}

extension FITField {
    /// The bits of a value: the nearest that the type can hold, or the type's invalid value for `nil`, NaN and
    /// infinity.
    ///
    /// - Precondition: the type is an integer of at most four bytes.
    func stored(_ value: Double?) -> UInt32 {
        guard let value, value.isFinite else { return type.invalid }
        let scaled = ((value + offset) * scale).rounded()
        let range = type.range
        guard isClamped || range.contains(scaled) else { return type.invalid }
        return UInt32(truncatingIfNeeded: Int64(min(max(scaled, range.lowerBound), range.upperBound)))
    }
}

extension FITBaseType {
    /// Whether the type is signed.
    private var isSigned: Bool { self == .sint8 || self == .sint16 || self == .sint32 }

    /// Whether 0 is the invalid value.
    private var isZeroInvalid: Bool { self == .uint8z || self == .uint16z || self == .uint32z }

    /// The type's invalid value, in the low bytes.
    fileprivate var invalid: UInt32 {
        if isZeroInvalid { return 0 }
        return UInt32.max >> (32 - 8 * size + (isSigned ? 1 : 0))
    }

    /// The numbers that the type can hold, without its invalid value.
    fileprivate var range: ClosedRange<Double> {
        let bits = 8 * size - (isSigned ? 1 : 0)
        let values = Double(sign: .plus, exponent: bits, significand: 1)
        if isSigned { return -values...values - 2 }
        return isZeroInvalid ? 1...values - 1 : 0...values - 2
    }
}

/// The content of a field. A value that the device marked as invalid is absent: the field is missing, or the element is
/// `nil`.
package enum FITValue: Equatable, Sendable {
    /// One number as stored, without scale and offset. Integers beyond 2⁵³ are rounded.
    case number(Double)
    /// An array of more than one number, at least one of them present.
    case numbers([Double?])
    /// Text before the first zero byte, never empty.
    case text(String)
    /// Raw bytes, or bytes of an unknown type; not all of them 0xFF.
    case bytes([UInt8])

    init?(raw bytes: ArraySlice<UInt8>) {
        guard bytes.contains(where: { $0 != 0xFF }) else { return nil }
        self = .bytes(Array(bytes))
    }
}
