import Foundation
import Workouts

/// Scans JSON text without building values, for high-rate messages.
///
/// The scanner validates the shape of the whole text and never traps; every error is a `PayloadError`. It does not
/// resolve escapes in strings, so a key with an escape is an unknown key.
struct JSONScanner {
    /// Deeper nesting is rejected.
    static let depthLimit = 32

    private let bytes: UnsafeBufferPointer<UInt8>
    private(set) var index = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    @inline(__always)
    static func scan(
        _ payload: ArraySlice<UInt8>, _ read: (inout JSONScanner) throws(PayloadError) -> Void
    ) throws(PayloadError) {
        try payload.withUnsafeBufferPointer { (bytes) throws(PayloadError) in
            var scanner = JSONScanner(bytes)
            try read(&scanner)
        }
    }

    /// A decimal number as written: `mantissa × 10^exponent`.
    struct Number {
        var isNegative = false
        var mantissa: UInt64 = 0
        var exponent = 0
        /// Whether digits beyond the mantissa were dropped.
        var isTruncated = false
        let text: Slice<UnsafeBufferPointer<UInt8>>
    }

    mutating func skipSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): index += 1
            default: return
            }
        }
    }

    /// Returns the next byte that is not white space without consuming it; 0 at the end.
    mutating func peek() -> UInt8 {
        skipSpace()
        return index < bytes.count ? bytes[index] : 0
    }

    mutating func take(_ byte: UInt8) -> Bool {
        // Without white space, as devices write.
        if index < bytes.count, bytes[index] == byte {
            index += 1
            return true
        }
        guard peek() == byte, index < bytes.count else { return false }
        index += 1
        return true
    }

    mutating func expect(_ byte: UInt8) throws(PayloadError) {
        guard take(byte) else { throw unexpected("'\(Character(Unicode.Scalar(byte)))' expected") }
    }

    mutating func expectEnd() throws(PayloadError) {
        skipSpace()
        guard index == bytes.count else { throw unexpected("end expected") }
    }

    func unexpected(_ what: String) -> PayloadError {
        .malformed("\(what) at byte \(index)")
    }

    /// The bytes of a string between its quotes, with escapes unresolved.
    mutating func string() throws(PayloadError) -> Slice<UnsafeBufferPointer<UInt8>> {
        try expect(UInt8(ascii: "\""))
        let start = index
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index += 1
                return bytes[start..<index - 1]
            case UInt8(ascii: "\\"): index += 2
            case 0..<0x20: throw unexpected("control character in a string")
            default: index += 1
            }
        }
        throw unexpected("unterminated string")
    }

    /// A key of one or two bytes with its colon; the second is 0 for one byte, and both are for other keys.
    mutating func shortKey() throws(PayloadError) -> (UInt8, UInt8) {
        let key = try string()
        try expect(UInt8(ascii: ":"))
        switch key.count {
        case 1: return (key[key.startIndex], 0)
        case 2: return (key[key.startIndex], key[key.startIndex + 1])
        default: return (0, 0)
        }
    }

    /// Skips a string, eight bytes at a time: polylines have thousands.
    private mutating func skipString() throws(PayloadError) {
        try expect(UInt8(ascii: "\""))
        while index < bytes.count {
            if index + 8 <= bytes.count, let start = bytes.baseAddress,
                Self.isPlain(UnsafeRawPointer(start + index).loadUnaligned(as: UInt64.self))
            {
                index += 8
                continue
            }
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index += 1
                return
            case UInt8(ascii: "\\"): index += 2
            case 0..<0x20: throw unexpected("control character in a string")
            default: index += 1
            }
        }
        throw unexpected("unterminated string")
    }

    /// Whether none of eight bytes is a quotation mark, a backslash or a control character.
    private static func isPlain(_ bytes: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // The highest bit of a byte is set if the byte is below the limit. A borrow may set those of later bytes too.
        func isBelow(_ limit: UInt8, _ bytes: UInt64) -> UInt64 { (bytes &- (ones &* UInt64(limit))) & ~bytes }
        let quote = bytes ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslash = bytes ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let special = isBelow(0x20, bytes) | isBelow(1, quote) | isBelow(1, backslash)
        return special & (ones &* 0x80) == 0
    }

    /// A number; `nil` for any other value, which is skipped.
    mutating func number() throws(PayloadError) -> Number? {
        let first = peek()
        guard first == UInt8(ascii: "-") || isDigit(first) else {
            try skipValue()
            return nil
        }
        let start = index
        var isNegative = false
        var mantissa: UInt64 = 0
        var exponent = 0
        var isTruncated = false
        if first == UInt8(ascii: "-") {
            isNegative = true
            index += 1
        }
        guard index < bytes.count, isDigit(bytes[index]) else { throw unexpected("digit expected") }
        if bytes[index] == UInt8(ascii: "0"), index + 1 < bytes.count, isDigit(bytes[index + 1]) {
            throw unexpected("number with a leading zero")
        }
        func add(_ digit: UInt8, isFraction: Bool) {
            if mantissa < 100_000_000_000_000_000 {
                mantissa = mantissa * 10 + UInt64(digit - UInt8(ascii: "0"))
                if isFraction { exponent -= 1 }
            } else {
                isTruncated = isTruncated || digit != UInt8(ascii: "0")
                if !isFraction { exponent += 1 }
            }
        }
        while index < bytes.count, isDigit(bytes[index]) {
            add(bytes[index], isFraction: false)
            index += 1
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            guard index < bytes.count, isDigit(bytes[index]) else { throw unexpected("digit expected") }
            while index < bytes.count, isDigit(bytes[index]) {
                add(bytes[index], isFraction: true)
                index += 1
            }
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            exponent += try writtenExponent()
        }
        return Number(
            isNegative: isNegative, mantissa: mantissa, exponent: exponent, isTruncated: isTruncated,
            text: bytes[start..<index])
    }

    /// A number that is not infinite; `nil` for any other value, which is skipped.
    mutating func finite() throws(PayloadError) -> Double? {
        try number().map(\.double).flatMap { $0.isFinite ? $0 : nil }
    }

    private mutating func writtenExponent() throws(PayloadError) -> Int {
        var isNegative = false
        if index < bytes.count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") {
            isNegative = bytes[index] == UInt8(ascii: "-")
            index += 1
        }
        guard index < bytes.count, isDigit(bytes[index]) else { throw unexpected("digit expected") }
        var value = 0
        while index < bytes.count, isDigit(bytes[index]) {
            value = min(9_999, value * 10 + Int(bytes[index] - UInt8(ascii: "0")))
            index += 1
        }
        return isNegative ? -value : value
    }

    /// Skips one value of any kind.
    mutating func skipValue(depth: Int = 0) throws(PayloadError) {
        guard depth < Self.depthLimit else { throw .tooLarge("nested deeper than \(Self.depthLimit)") }
        switch peek() {
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "{"):
            index += 1
            if take(UInt8(ascii: "}")) { return }
            repeat {
                _ = try string()
                try expect(UInt8(ascii: ":"))
                try skipValue(depth: depth + 1)
            } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "}"))
        case UInt8(ascii: "["):
            index += 1
            if take(UInt8(ascii: "]")) { return }
            repeat { try skipValue(depth: depth + 1) } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "]"))
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try number()
        default: throw unexpected("value expected")
        }
    }

    /// The text from a place to the current one, cut short.
    func text(from start: Int, to end: Int? = nil) -> String {
        PayloadError.cut(bytes[start..<(end ?? index)].drop { $0 <= 0x20 })
    }

    /// Moves to the value at a path. Returns `false` if there is none.
    mutating func descend(_ path: [any CodingKey]) throws(PayloadError) -> Bool {
        for key in path {
            var place = 0
            guard take(UInt8(ascii: key.intValue == nil ? "{" : "[")), peek() != UInt8(ascii: "}") else { return false }
            while true {
                if let index = key.intValue {
                    if place == index { break }
                } else {
                    let name = try string()
                    try expect(UInt8(ascii: ":"))
                    if name.elementsEqual(key.stringValue.utf8) { break }
                }
                try skipValue()
                place += 1
                guard take(UInt8(ascii: ",")) else { return false }
            }
        }
        return true
    }

    private mutating func literal(_ text: StaticString) throws(PayloadError) {
        guard bytes.count - index >= text.utf8CodeUnitCount,
            memcmp(bytes.baseAddress! + index, text.utf8Start, text.utf8CodeUnitCount) == 0
        else { throw unexpected("value expected") }
        index += text.utf8CodeUnitCount
    }

    private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

extension JSONScanner.Number {
    private static let powers: [Double] = (0...22).map { pow(10, Double($0)) }

    /// The nearest double; infinite if out of range.
    ///
    /// Zero has no sign. Text storage would lose a negative zero, and results would differ after a restart.
    var double: Double {
        guard !isTruncated, mantissa < 1 << 53, (-22...22).contains(exponent) else {
            let value = Double(String(decoding: text, as: UTF8.self)) ?? .infinity
            return value == 0 ? 0 : value
        }
        guard mantissa > 0 else { return 0 }
        // Both factors are exact, so a single rounding gives the nearest double.
        let magnitude =
            exponent < 0 ? Double(mantissa) / Self.powers[-exponent] : Double(mantissa) * Self.powers[exponent]
        return isNegative ? -magnitude : magnitude
    }

    /// The number times one million as an integer, rounded half away from zero; `nil` if out of a time's range.
    var millionths: Int64? {
        guard mantissa > 0 else { return 0 }
        var value = mantissa
        var shift = exponent + 6
        while shift > 0 {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            value = product
            shift -= 1
        }
        while shift < 0, value > 0 {
            value = shift == -1 ? (value + 5) / 10 : value / 10
            shift += 1
        }
        guard value <= Timestamp.accepted.upperBound else { return nil }
        return isNegative ? -Int64(value) : Int64(value)
    }

    /// The number as an integer; `nil` if it is fractional or out of range.
    var integer: Int? { Int(exactly: double) }
}
