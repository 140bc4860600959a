import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@Suite struct SampleBatchPropertyTests {
    private static let times = AcceptedTimes(now: Timestamp(seconds: 1_767_225_600))

    /// A JSON value read by Foundation.
    private enum Value: Decodable {
        case number(Double)
        case array([Value])
        case object([String: Value])
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let object = try? container.decode([String: Value].self) {
                self = .object(object)
            } else if let array = try? container.decode([Value].self) {
                self = .array(array)
            } else {
                self = .other
            }
        }

        var number: Double? { if case .number(let number) = self { number } else { nil } }
    }

    /// The rules of the design, implemented naively.
    private func reference(_ bytes: [UInt8]) throws -> SampleBatch? {
        guard case .object(let fields) = try JSONDecoder().decode(Value.self, from: Data(bytes)),
            let first = fields["s"]?.number, case .array(let values)? = fields["x"]
        else { return nil }
        var batch = SampleBatch(first: Int(first), items: [])
        for value in values {
            guard case .object(let fields) = value else {
                batch.items.append(Sample())
                batch.invalidValues += 1
                continue
            }
            var sample = Sample(time: fields["c"]?.number.map { Timestamp(seconds: $0) })
            for quantity in Quantity.allCases {
                guard let field = fields[quantity.key] else { continue }
                if quantity.isList, case .array(let elements) = field {
                    sample[all: quantity] = elements.compactMap(\.number).filter(quantity.range.contains)
                    batch.invalidValues += elements.count - sample[all: quantity].count
                    continue
                }
                if let number = field.number, quantity.range.contains(number) {
                    sample[quantity] = number
                } else {
                    batch.invalidValues += 1
                }
            }
            if sample.time.map(Self.times.contains) != true {
                sample = Sample()
                batch.invalidValues += 1
            }
            batch.items.append(sample)
        }
        return batch
    }

    /// A batch with keys, spacing and numbers in any valid form.
    private func text(_ random: inout SeededRandom) -> String {
        func space() -> String { random.text(" \n\t\r", 0...1) }
        func number(_ value: Double) -> String {
            [value.description, String(format: "%.6f", value), String(format: "%.12e", value), "\(Int(value))"]
                .randomElement(using: &random)!
        }
        func value(_ quantity: Quantity) -> String {
            let odd = ["null", "true", "\"7\"", "[1,{\"h\":2}]", "{}", "1e999", "-5", "1e30"]
            if Int.random(in: 0..<8, using: &random) == 0 { return odd.randomElement(using: &random)! }
            func inRange() -> String { number(.random(in: quantity.range, using: &random)) }
            guard quantity.isList, Bool.random(using: &random) else { return inRange() }
            let numbers = (0..<Int.random(in: 0...4, using: &random)).map { _ in space() + inRange() + space() }
            return "[\(numbers.joined(separator: ","))]"
        }
        func item() -> String {
            if Int.random(in: 0..<20, using: &random) == 0 { return "null" }
            var fields: [String] = []
            if Int.random(in: 0..<20, using: &random) > 0 {
                fields.append("\"c\"\(space()):\(Double.random(in: 9e8...1.78e9, using: &random).rounded() + 0.25)")
            }
            for quantity in Quantity.allCases where Bool.random(using: &random) {
                fields.append("\"\(quantity.key)\":\(space())\(value(quantity))")
            }
            if Bool.random(using: &random) { fields.append(#""note":"a\"}]\\ü""#) }
            return "{\(space())\(fields.shuffled(using: &random).joined(separator: "\(space()),"))}"
        }
        let items = (0..<Int.random(in: 1...20, using: &random)).map { _ in item() }.joined(separator: ",")
        let fields = ["\"s\":\(Int.random(in: 0...1_000, using: &random))", "\"x\":\(space())[\(items)]", "\"v\":{}"]
        return "\(space()){\(fields.shuffled(using: &random).joined(separator: ","))}\(space())"
    }

    @Test func `generated batches are read as Foundation reads them`() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let text = text(&random)
            // Foundation refuses numbers beyond its doubles; the rule for out-of-range values applies.
            let readable = text.replacing("1e999", with: "1e300")
            let expected = try #require(try reference(Array(readable.utf8)))
            #expect(try SampleBatch(Array(text.utf8)[...], accepting: Self.times) == expected, "\(text)")
        }
    }

    @Test func `a batch is read as written`() throws {
        var random = SeededRandom()
        for _ in 0..<300 {
            let batch = random.batch()
            let bytes = batch.payload
            #expect(try SampleBatch(bytes[...], accepting: Self.times) == batch)
            // A payload is a slice with any start index.
            #expect(try SampleBatch(([0, 0] + bytes + [0])[2..<bytes.count + 2], accepting: Self.times) == batch)
            #expect(try JSONSerialization.jsonObject(with: Data(bytes)) is [String: Any])
        }
    }

    @Test func `damaged batches never trap and accepted values are in range`() {
        var random = SeededRandom()
        var taken = 0
        for _ in 0..<5_000 {
            var bytes = Array(text(&random).utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) { damage(&bytes, &random) }
            guard let batch = try? SampleBatch(bytes[...], accepting: Self.times) else { continue }
            taken += 1
            #expect((0...StreamLimits.items).contains(batch.first))
            #expect((1...StreamLimits.batch).contains(batch.items.count))
            for item in batch.items {
                #expect(item.time.map(Self.times.contains) ?? (item == Sample()))
                #expect(Quantity.allCases.allSatisfy { item[all: $0].allSatisfy($0.range.contains) })
            }
        }
        // Both outcomes must occur: some damaged batches are accepted, most are not.
        #expect((50..<4_950).contains(taken))
    }

    private func damage(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        guard !bytes.isEmpty else { return }
        let index = Int.random(in: 0..<bytes.count, using: &random)
        let other = Int.random(in: index..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[index] = Array("{}[]\",:\\-+.eE019ntf \0".utf8).randomElement(using: &random)!
        case 2: bytes.removeSubrange(index...other)
        case 3: bytes.insert(contentsOf: bytes[index...other], at: index)
        case 4: bytes.removeSubrange(index...)
        default: bytes.insert(.random(in: 0...255, using: &random), at: index)
        }
    }
}
