import Foundation
import TestSupport
import Testing
import Workouts

@testable import Bus

@Suite struct NumberTests {
    /// The conversions of a number while its text exists.
    private func read<Result>(_ text: String, _ make: (JSONScanner.Number) -> Result) throws -> Result {
        try Array(text.utf8).withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes)
            let number = try #require(try scanner.number())
            try scanner.expectEnd()
            return make(number)
        }
    }

    @Test func `a decimal becomes the double that Swift reads`() throws {
        var random = SeededRandom()
        for _ in 0..<20_000 {
            let text = decimal(&random).text
            #expect(try read(text, \.double) == Double(text), "\(text)")
        }
        for _ in 0..<5_000 {
            let value = Double(bitPattern: random.next())
            guard value.isFinite else { continue }
            #expect(try read(value.description, \.double) == value)
        }
    }

    @Test(arguments: [
        "9007199254740993", "9007199254740992", "1e22", "1e23", "8.5e-23", "123456789012345678", "0.1", "1e-22",
        "179769313486231580793e289", "4.9e-324", "2.4703282292062327e-324", "2.2250738585072011e-308",
        "0.000000000000000000000000000000000000001", "1000000000000000000000000000000000000000e-30", "1e308",
    ])
    func `a hard decimal becomes the double that Swift reads`(text: String) throws {
        #expect(try read(text, \.double) == Double(text))
    }

    @Test func `millionths are exact and halves round away from zero`() throws {
        var random = SeededRandom()
        for _ in 0..<20_000 {
            let decimal = decimal(&random)
            // Shifts the point in the digits themselves.
            let point = decimal.whole.count + decimal.exponent + 6
            var digits = decimal.whole + decimal.fraction
            if point > digits.count { digits += String(repeating: "0", count: point - digits.count) }
            if point < 0 { digits = String(repeating: "0", count: -point) + digits }
            let whole = digits.prefix(max(0, point)).drop { $0 == "0" }
            guard whole.count <= 17 else { continue }
            let isUp = (digits.dropFirst(max(0, point)).first ?? "0") >= "5"
            let magnitude = (Int64(whole) ?? 0) + (isUp ? 1 : 0)
            #expect(
                try read(decimal.text, \.millionths) == (decimal.isNegative ? -magnitude : magnitude), "\(decimal.text)"
            )
        }
    }

    @Test(
        arguments: [
            ("9223372036854.775807", nil), ("1767225600.123456", 1_767_225_600_123_456), ("1e13", nil), ("1e999", nil),
            ("1e-999", 0), ("0e999", 0), ("-0", 0), ("0.0000005", 1), ("0.00000049", 0), ("-0.0000005", -1),
            ("1767225600.0000004999999999999999999999", 1_767_225_600_000_000), ("9e12", nil), ("-9e12", nil),
            ("4e12", 4_000_000_000_000_000_000), ("-4e12", -4_000_000_000_000_000_000),
        ] as [(String, Int64?)])
    func `millionths out of range are nil`(text: String, expected: Int64?) throws {
        // 19 digits exceed the mantissa; far beyond any time the last one may be lost.
        let result = try read(text, \.millionths)
        if text.hasPrefix("9223372036854") {
            #expect(result.map { abs($0 - .max) < 10 } ?? true)
        } else {
            #expect(result == expected)
        }
    }

    @Test(arguments: [
        ("0", 0), ("7e0", 7), ("70e-1", 7), ("1e8", 100_000_000), ("0.5", nil), ("1e-7", nil), ("1e30", nil),
    ])
    func `an integer is a whole number in range`(text: String, expected: Int?) throws {
        #expect(try read(text, \.integer) == expected)
    }

    @Test func `the writer's numbers are the shortest that are read back`() {
        var random = SeededRandom()
        func written(_ write: (inout JSONWriter) -> Void) -> String {
            var json = JSONWriter()
            write(&json)
            return String(decoding: json.bytes, as: UTF8.self)
        }
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...16, using: &random)
            let number =
                Int64.random(in: -1_000_000...1_000_000, using: &random) << Int.random(in: 0...30, using: &random)
            let value = Double(number) / pow(10, Double(count))
            let isWhole = value.rounded() == value && abs(value) < 1e15
            #expect(written { $0.write(value) } == (isWhole ? "\(Int64(value))" : "\(value)"), "seed \(random.seed)")
            #expect(written { $0.object { $0.field("a", number) } } == "{\"a\":\(number)}", "seed \(random.seed)")
            let time = written { $0.write(Timestamp(microseconds: number)) }
            #expect(Double(time) == Double(number) / 1e6, "seed \(random.seed)")
        }
        for value in [0.0, -0.0, 0.001, 0.0004, 1e15, 1e300, -0.5, 999_999_999_999.999, 1_000_000_000_000.001] {
            #expect(Double(written { $0.write(value) }) == value)
        }
        #expect(written { $0.field("a", Int64.min) } == "\"a\":\(Int64.min)")
        #expect(written { $0.write(Timestamp(microseconds: -1_500_000)) } == "-1.5")
    }

    @Test func `the writer's output is JSON with the same numbers`() throws {
        var random = SeededRandom()
        for _ in 0..<5_000 {
            let value =
                Bool.random(using: &random)
                ? Double(bitPattern: random.next()) : Double.random(in: -1e6...1e6, using: &random)
            guard value.isFinite else { continue }
            let time = Timestamp(
                microseconds: .random(in: -4_000_000_000_000_000...4_000_000_000_000_000, using: &random))
            var json = JSONWriter()
            json.object {
                $0.field("a", value)
                $0.field("b", Double?.none)
                $0.field("c", time)
                $0.objectField("d") { $0.array("e", [value, 0]) { $0.write($1) } }
                $0.array("f", [Double]()) { $0.write($1) }
                $0.field("g", true)
                $0.field("h", plain: "x")
            }
            let bytes = Data(json.bytes)
            #expect(try JSONSerialization.jsonObject(with: bytes) is [String: Any])
            // On Linux only the decoder reads doubles exactly.
            let expected = Written(a: value, c: time, d: ["e": [value, 0]], f: [], g: true, h: "x")
            #expect(try JSONDecoder().decode(Written.self, from: bytes) == expected)
        }
    }

    private struct Written: Decodable, Equatable {
        var a: Double
        var b: Double?
        var c: Timestamp
        var d: [String: [Double]]
        var f: [Double]
        var g: Bool
        var h: String
    }

    private struct Decimal {
        var isNegative: Bool
        var whole: String
        var fraction: String
        var exponent: Int
        var text: String
    }

    private func decimal(_ random: inout SeededRandom) -> Decimal {
        let isNegative = Bool.random(using: &random)
        var whole = random.text("0123456789", 1...12).drop { $0 == "0" }
        if whole.isEmpty { whole = "0" }
        let fraction = random.text("0123456789", 0...14)
        let exponent = Bool.random(using: &random) ? 0 : Int.random(in: -12...12, using: &random)
        var text = (isNegative ? "-" : "") + whole
        if !fraction.isEmpty { text += ".\(fraction)" }
        if exponent != 0 { text += "\(Bool.random(using: &random) ? "e" : "E")\(exponent)" }
        return Decimal(
            isNegative: isNegative, whole: String(whole), fraction: fraction, exponent: exponent, text: text)
    }
}
