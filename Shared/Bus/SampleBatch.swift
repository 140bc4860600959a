package import Workouts

/// A batch on `samples/{device}`: consecutive items of one stream.
package struct SampleBatch: Equatable, Sendable {
    package static let itemLimit = 1_000

    /// The number of the first item.
    package var first: Int
    package var items: [Sample]
    /// How many fields and times were out of range or of the wrong kind, and so left out.
    package var flaws = 0

    package init(first: Int, items: [Sample]) {
        self.first = first
        self.items = items
    }
}

extension SampleBatch {
    /// Reads `{"s": first, "x": [item, …]}`.
    ///
    /// A text that is not of this shape is refused whole. Otherwise every number is consumed: a field out of range is
    /// left out, an item without a usable `c` becomes an empty one, and both are counted as flaws.
    package init(_ payload: ArraySlice<UInt8>, accepting times: AcceptedTimes) throws(PayloadError) {
        self.init(first: -1, items: [])
        let outcome: Result<Void, PayloadError> = payload.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes)
            do throws(PayloadError) {
                try read(&scanner, times)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
        guard first >= 0 else { throw .malformed("no number of the first item in \"s\"") }
        guard !items.isEmpty else { throw .malformed("no items in \"x\"") }
    }

    private mutating func read(_ scanner: inout JSONScanner, _ times: AcceptedTimes) throws(PayloadError) {
        try scanner.expect(UInt8(ascii: "{"))
        repeat {
            let key = try scanner.string()
            try scanner.expect(UInt8(ascii: ":"))
            if key.elementsEqual("s".utf8) {
                guard let number = try scanner.number()?.integer, (0...StreamLimits.items).contains(number) else {
                    throw scanner.unexpected("\"s\" is not the number of an item")
                }
                first = number
            } else if key.elementsEqual("x".utf8) {
                items.removeAll()
                flaws = 0
                try readItems(&scanner, times)
            } else {
                try scanner.skipValue()
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        try scanner.expectEnd()
    }

    private mutating func readItems(_ scanner: inout JSONScanner, _ times: AcceptedTimes) throws(PayloadError) {
        try scanner.expect(UInt8(ascii: "["))
        repeat {
            guard items.count < Self.itemLimit else { throw .tooLarge("more than \(Self.itemLimit) items") }
            if scanner.peek() == UInt8(ascii: "{") {
                items.append(try readItem(&scanner, times))
            } else {
                try scanner.skipValue()
                flaws += 1
                items.append(Sample())
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "]"))
    }

    private mutating func readItem(_ scanner: inout JSONScanner, _ times: AcceptedTimes) throws(PayloadError) -> Sample
    {
        var sample = Sample()
        try scanner.expect(UInt8(ascii: "{"))
        if !scanner.take(UInt8(ascii: "}")) {
            repeat {
                let key = try scanner.string()
                try scanner.expect(UInt8(ascii: ":"))
                if key.elementsEqual("c".utf8) {
                    sample.time = try scanner.number()?.millionths.map(Timestamp.init(microseconds:))
                } else if let quantity = Quantity(key: key) {
                    let value = try scanner.number()?.double
                    let usable = value.map(quantity.range.contains) ?? false
                    sample[quantity] = usable ? value : nil
                    if !usable { flaws += 1 }
                } else {
                    try scanner.skipValue()
                }
            } while scanner.take(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "}"))
        }
        guard let time = sample.time, times.contains(time) else {
            flaws += 1
            return Sample()
        }
        return sample
    }

    /// The batch as JSON.
    package var payload: [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.field("s", Double(first))
            $0.array("x", items) { json, sample in
                json.object { json in
                    if let time = sample.time { json.field("c", time) }
                    for quantity in Quantity.allCases.sorted(by: { $0.key < $1.key }) {
                        if let value = sample[quantity] { json.field(quantity.key, value) }
                    }
                }
            }
        }
        return json.bytes
    }
}

/// How far a stream may go.
package enum StreamLimits {
    /// Items of one stream: a hundred a second for eleven days.
    package static let items = 100_000_000
}

extension Quantity {
    /// The key of the quantity in items and in the columns of `series`.
    package var key: String {
        switch self {
        case .heartRate: "h"
        case .distance: "d"
        case .activeEnergy: "k"
        case .speed: "v"
        case .steps: "n"
        case .cadence: "cd"
        case .power: "w"
        case .battery: "b"
        }
    }

    fileprivate init?(key: Slice<UnsafeBufferPointer<UInt8>>) {
        guard let first = key.first else { return nil }
        switch (first, key.count) {
        case (UInt8(ascii: "h"), 1): self = .heartRate
        case (UInt8(ascii: "d"), 1): self = .distance
        case (UInt8(ascii: "k"), 1): self = .activeEnergy
        case (UInt8(ascii: "v"), 1): self = .speed
        case (UInt8(ascii: "n"), 1): self = .steps
        case (UInt8(ascii: "w"), 1): self = .power
        case (UInt8(ascii: "b"), 1): self = .battery
        case (UInt8(ascii: "c"), 2) where key.last == UInt8(ascii: "d"): self = .cadence
        default: return nil
        }
    }
}
