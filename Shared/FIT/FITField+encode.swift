extension FITField {
    /// The bits to store for a value: the nearest that the type can hold, or the type's invalid value when there is
    /// none. What is not a number is no value.
    ///
    /// - Precondition: the type is one of whole numbers of at most four bytes.
    func stored(_ value: Double?) -> UInt32 {
        guard let value, value.isFinite else { return type.invalid }
        let scaled = ((value + offset) * scale).rounded()
        let range = type.range
        guard isClamped || range.contains(scaled) else { return type.invalid }
        return UInt32(truncatingIfNeeded: Int64(min(max(scaled, range.lowerBound), range.upperBound)))
    }
}

extension FITBaseType {
    /// Whether the numbers of the type are signed.
    private var isSigned: Bool { self == .sint8 || self == .sint16 || self == .sint32 }

    /// Whether 0 is what stands for no value.
    private var isZeroInvalid: Bool { self == .uint8z || self == .uint16z || self == .uint32z }

    /// The bits that stand for no value, in the low bytes.
    fileprivate var invalid: UInt32 {
        if isZeroInvalid { return 0 }
        return UInt32.max >> (32 - 8 * size + (isSigned ? 1 : 0))
    }

    /// The numbers that the type can tell, its invalid value left out.
    fileprivate var range: ClosedRange<Double> {
        let bits = 8 * size - (isSigned ? 1 : 0)
        let values = Double(sign: .plus, exponent: bits, significand: 1)
        if isSigned { return -values...values - 2 }
        return isZeroInvalid ? 1...values - 1 : 0...values - 2
    }
}
