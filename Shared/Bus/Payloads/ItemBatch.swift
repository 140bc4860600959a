package import Workouts

/// A batch on `samples/{device}` or `locations/{device}`: consecutive items of one stream.
package struct ItemBatch<Item: StreamItem>: Equatable, Sendable where Item.Field: PayloadField {
    /// The number of the first item.
    package var first: Int
    package var items: [Item]
    /// How many fields and times were left out because they are out of range or of the wrong kind.
    package var invalidValues = 0

    package init(first: Int, items: [Item]) {
        self.first = first
        self.items = items
    }
}

extension ItemBatch {
    /// Reads `{"s": first, "x": [item, …]}`.
    ///
    /// A payload of another shape is rejected as a whole. Otherwise every number is consumed: a field out of range is
    /// left out, an item without a usable `c` becomes an empty one, and each counts as an invalid value. A list may
    /// also be a single number.
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
                invalidValues = 0
                try readItems(&scanner, times)
            } else {
                try scanner.skipValue()
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        try scanner.expectEnd()
    }

    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    private mutating func readItems(_ scanner: inout JSONScanner, _ times: AcceptedTimes) throws(PayloadError) {
        let fields = Item.Field.table
        try scanner.expect(UInt8(ascii: "["))
        repeat {
            guard items.count < StreamLimits.batch else { throw .tooLarge("more than \(StreamLimits.batch) items") }
            if scanner.peek() == UInt8(ascii: "{") {
                items.append(try readItem(&scanner, times, fields))
            } else {
                try scanner.skipValue()
                invalidValues += 1
                items.append(Item(time: nil))
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "]"))
    }

    private mutating func readItem(
        _ scanner: inout JSONScanner, _ times: AcceptedTimes, _ fields: FieldTable<Item.Field>
    ) throws(PayloadError) -> Item {
        var item = Item(time: nil)
        try scanner.expect(UInt8(ascii: "{"))
        if !scanner.take(UInt8(ascii: "}")) {
            repeat {
                let key = try scanner.string()
                try scanner.expect(UInt8(ascii: ":"))
                if key.count == 1, key.first == UInt8(ascii: "c") {
                    item.time = try scanner.number()?.millionths.map(Timestamp.init(microseconds:))
                } else if let field = fields.field(key) {
                    if fields.isList(field) {
                        item[all: field] = try readList(&scanner, in: fields.range(field))
                        continue
                    }
                    let value = try scanner.number()?.double
                    let usable = value.map(fields.range(field).contains) ?? false
                    item[field] = usable ? value : nil
                    if !usable { invalidValues += 1 }
                } else {
                    try scanner.skipValue()
                }
            } while scanner.take(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "}"))
        }
        guard let time = item.time, times.contains(time) else {
            invalidValues += 1
            return Item(time: nil)
        }
        return item
    }

    private mutating func readList(
        _ scanner: inout JSONScanner, in range: ClosedRange<Double>
    ) throws(PayloadError) -> [Double] {
        var values: [Double] = []
        let isSingle = !scanner.take(UInt8(ascii: "["))
        if !isSingle, scanner.take(UInt8(ascii: "]")) { return [] }
        repeat {
            if let value = try scanner.number()?.double, range.contains(value), values.count < Quantity.listLimit {
                values.append(value)
            } else {
                invalidValues += 1
            }
        } while !isSingle && scanner.take(UInt8(ascii: ","))
        if !isSingle { try scanner.expect(UInt8(ascii: "]")) }
        return values
    }

    /// The batch as JSON.
    package var payload: [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.field("s", Double(first))
            let table = Item.Field.table
            let fields = Item.Field.allCases.sorted { $0.key < $1.key }
            $0.array("x", items) { json, item in
                json.object { json in
                    if let time = item.time { json.field("c", time) }
                    for field in fields {
                        if table.isList(field) {
                            let values = item[all: field]
                            if !values.isEmpty { json.array(field.key, values) { json, value in json.write(value) } }
                        } else if let value = item[field] {
                            json.field(field.key, value)
                        }
                    }
                }
            }
        }
        return json.bytes
    }
}
