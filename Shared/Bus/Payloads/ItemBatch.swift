package import Workouts

/// A batch on `samples/{device}` or `locations/{device}`: consecutive items of one stream.
package struct ItemBatch<Item: StreamItem>: Equatable, Sendable where Item.Field: PayloadField {
    /// The number of the first item.
    package var first: Int
    package var items: [Item]
    /// Whether the device wants an acknowledgement with the next commit.
    package var asksAck: Bool
    /// How many fields and times were left out because they are out of range or of the wrong kind.
    package var invalidValues = 0
    /// The first of them, by the item's place in the batch.
    private var firstFlaw: (place: Int, field: String?, value: String?, rule: String)?

    package init(first: Int, items: [Item], asksAck: Bool = false) {
        self.first = first
        self.items = items
        self.asksAck = asksAck
    }

    /// What the device should know about invalid values; `nil` if all are valid.
    package var flaw: PayloadError? {
        guard let firstFlaw else { return nil }
        let number = first + firstFlaw.place
        let subject = "item \(number)" + (firstFlaw.field.map { ": \($0)" } ?? "")
        let others = invalidValues > 1 ? "; \(invalidValues) values of this batch were dropped" : ""
        return PayloadError(
            kind: .flawedItems, text: "\(subject) \(firstFlaw.rule)\(others)", field: firstFlaw.field,
            value: firstFlaw.value, item: number)
    }

    /// The newest time of its items.
    package var newest: Timestamp? {
        @specialized(where Item == Sample)
        @specialized(where Item == Location)
        get {
            var newest: Timestamp?
            // By index, which copies no item.
            for index in items.indices { if let time = items[index].time { newest = max(newest ?? time, time) } }
            return newest
        }
    }

    package static func == (left: ItemBatch, right: ItemBatch) -> Bool {
        left.first == right.first && left.items == right.items && left.asksAck == right.asksAck
            && left.invalidValues == right.invalidValues
    }
}

extension ItemBatch {
    /// Reads `{"a": 1, "s": first, "x": [item, …]}`.
    ///
    /// A payload of another shape is rejected as a whole. Otherwise every number is consumed: a field out of range is
    /// left out, an item without a usable `c` becomes an empty one, and each counts as an invalid value. A list may
    /// also be a single number.
    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    package init(_ payload: ArraySlice<UInt8>, accepting times: AcceptedTimes) throws(PayloadError) {
        self.init(first: -1, items: [])
        try JSONScanner.scan(payload) { (scanner) throws(PayloadError) in try read(&scanner, times) }
        guard first >= 0 else { throw .malformed("no number of the first item in \"s\"") }
        guard !items.isEmpty else { throw .malformed("no items in \"x\"") }
    }

    private mutating func read(_ scanner: inout JSONScanner, _ times: AcceptedTimes) throws(PayloadError) {
        try scanner.expect(UInt8(ascii: "{"))
        repeat {
            let key = try scanner.string()
            try scanner.expect(UInt8(ascii: ":"))
            switch key.count == 1 ? key[key.startIndex] : 0 {
            case UInt8(ascii: "s"):
                guard let number = try scanner.number()?.integer, (0...StreamLimits.items).contains(number) else {
                    throw scanner.unexpected("\"s\" is not the number of an item")
                }
                first = number
            case UInt8(ascii: "x"):
                items.removeAll()
                invalidValues = 0
                firstFlaw = nil
                try readItems(&scanner, times)
            case UInt8(ascii: "a"): asksAck = (try scanner.number()?.double ?? 0) != 0
            default: try scanner.skipValue()
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        try scanner.expectEnd()
    }

    private mutating func readItems(_ scanner: inout JSONScanner, _ times: AcceptedTimes) throws(PayloadError) {
        let fields = Item.Field.table
        try scanner.expect(UInt8(ascii: "["))
        repeat {
            guard items.count < StreamLimits.batch else { throw .tooLarge("more than \(StreamLimits.batch) items") }
            if scanner.peek() == UInt8(ascii: "{") {
                items.append(try readItem(&scanner, times, fields))
            } else {
                let start = scanner.index
                try scanner.skipValue()
                note(nil, scanner.text(from: start), "is not an object; it is stored empty")
                items.append(Item(time: nil))
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "]"))
    }

    private mutating func readItem(
        _ scanner: inout JSONScanner, _ times: AcceptedTimes, _ fields: FieldTable<Item.Field>
    ) throws(PayloadError) -> Item {
        var item = Item(time: nil)
        var timeText: (start: Int, end: Int)?
        try scanner.expect(UInt8(ascii: "{"))
        if !scanner.take(UInt8(ascii: "}")) {
            repeat {
                let key = try scanner.string()
                try scanner.expect(UInt8(ascii: ":"))
                if key.count == 1, key.first == UInt8(ascii: "c") {
                    let start = scanner.index
                    item.time = try scanner.number()?.millionths.map(Timestamp.init(microseconds:))
                    timeText = (start, scanner.index)
                } else if let field = fields.field(key) {
                    if fields.isList(field) {
                        item[all: field] = try readList(&scanner, field, in: fields.range(field))
                        continue
                    }
                    let start = scanner.index
                    let value = try scanner.number()?.double
                    let usable = value.map(fields.range(field).contains) ?? false
                    item[field] = usable ? value : nil
                    if !usable { note(field, scanner.text(from: start)) }
                } else {
                    try scanner.skipValue()
                }
            } while scanner.take(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "}"))
        }
        guard let time = item.time, times.contains(time) else {
            note(
                "c", timeText.map { scanner.text(from: $0.start, to: $0.end) },
                "is not a time from 2000 to 24 hours ahead of the service's clock; the item is stored empty")
            return Item(time: nil)
        }
        return item
    }

    private mutating func readList(
        _ scanner: inout JSONScanner, _ field: Item.Field, in range: ClosedRange<Double>
    ) throws(PayloadError) -> [Double] {
        var values: [Double] = []
        let isSingle = !scanner.take(UInt8(ascii: "["))
        if !isSingle, scanner.take(UInt8(ascii: "]")) { return [] }
        repeat {
            let start = scanner.index
            if let value = try scanner.number()?.double, range.contains(value), values.count < Quantity.listLimit {
                values.append(value)
            } else {
                note(field, scanner.text(from: start))
            }
        } while !isSingle && scanner.take(UInt8(ascii: ","))
        if !isSingle { try scanner.expect(UInt8(ascii: "]")) }
        return values
    }

    private mutating func note(_ field: Item.Field, _ value: @autoclosure () -> String) {
        func text(_ bound: Double) -> String { Int(exactly: bound).map { "\($0)" } ?? "\(bound)" }
        let (low, high) = (text(field.range.lowerBound), text(field.range.upperBound))
        let limit = Item.Field.table.isList(field) ? ", at most \(Quantity.listLimit) values" : ""
        note(field.key, value(), "is not a number from \(low) to \(high)\(limit); it was dropped")
    }

    /// Counts an invalid value of the item that is being read, and keeps the first.
    private mutating func note(
        _ field: @autoclosure () -> String?, _ value: @autoclosure () -> String?, _ rule: @autoclosure () -> String
    ) {
        invalidValues += 1
        if firstFlaw == nil { firstFlaw = (items.count, field(), value(), rule()) }
    }

    /// The batch as JSON.
    package var payload: [UInt8] {
        var json = JSONWriter()
        json.object {
            if asksAck { $0.field("a", 1 as Int64) }
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
