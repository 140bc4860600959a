/// A number in a file: as few decimals as possible, and no exponent.
struct FixedPoint: Equatable, Sendable {
    /// The number times 10 to the power of `decimals`.
    let scaled: Int64
    let decimals: Int

    /// - Parameter scaled: the number times 10 to the power of `decimals`.
    init(scaled: Int64, decimals: Int) {
        self.scaled = scaled
        self.decimals = decimals
    }

    /// The nearest fixed-point number; `nil` for no value, for NaN and infinity, and beyond the exact range.
    init?(_ value: Double?, decimals: Int) {
        guard let value else { return nil }
        var power = 1.0
        for _ in 0..<decimals { power *= 10 }
        let scaled = (value * power).rounded()
        guard abs(scaled) < 0x1p53 else { return nil }
        self.init(scaled: Int64(scaled), decimals: decimals)
    }
}

extension [UInt8] {
    mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ number: FixedPoint) {
        if number.scaled < 0 { append(UInt8(ascii: "-")) }
        var rest = number.scaled.magnitude
        var decimals = number.decimals
        while decimals > 0, rest % 10 == 0 {
            rest /= 10
            decimals -= 1
        }
        let start = count
        repeat {
            append(digit(rest % 10))
            rest /= 10
            decimals -= 1
            if decimals == 0 { append(UInt8(ascii: ".")) }
        } while rest > 0 || decimals >= 0
        self[start...].reverse()
    }

    private func digit(_ value: UInt64) -> UInt8 { UInt8(ascii: "0") + UInt8(value) }
}
