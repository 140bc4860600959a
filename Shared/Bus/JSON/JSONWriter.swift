package import Workouts

/// Writes JSON in one pass, for high-rate messages. Fields keep the order of the calls.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(capacity: Int = 128) {
        bytes.reserveCapacity(capacity)
    }

    package mutating func object(_ fields: (inout JSONWriter) -> Void) {
        enclose("{", "}", fields)
    }

    package mutating func field(_ key: StaticString, _ value: Double) {
        name(key)
        write(value)
    }

    package mutating func field(_ key: String, _ value: Double) {
        separate()
        append("\"\(key)\":")
        write(value)
        needsComma = true
    }

    /// Omits the field if the value is `nil`.
    package mutating func field(_ key: StaticString, _ value: Double?) {
        if let value { field(key, value) }
    }

    package mutating func field(_ key: StaticString, _ value: Int64) {
        name(key)
        write(value.magnitude, isNegative: value < 0)
    }

    package mutating func field(_ key: StaticString, _ value: Bool) {
        name(key)
        append(value ? "true" : "false")
    }

    /// Unix seconds with as many decimals as necessary.
    package mutating func field(_ key: StaticString, _ value: Timestamp) {
        name(key)
        write(value)
    }

    /// A string without characters that need an escape.
    package mutating func field(_ key: StaticString, plain value: String) {
        name(key)
        bytes.append(UInt8(ascii: "\""))
        append(value)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Fields that another writer wrote.
    package mutating func fields(_ written: [UInt8]) {
        guard !written.isEmpty else { return }
        separate()
        bytes += written
        needsComma = true
    }

    package mutating func objectField(_ key: StaticString, _ fields: (inout JSONWriter) -> Void) {
        name(key)
        object(fields)
    }

    /// - Parameter key: without characters that need an escape.
    package mutating func objectField(_ key: String, _ fields: (inout JSONWriter) -> Void) {
        separate()
        append("\"\(key)\":")
        object(fields)
    }

    package mutating func array<Element>(
        _ key: String, _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void
    ) {
        separate()
        append("\"\(key)\":")
        array(elements, write)
    }

    package mutating func array<Element>(
        _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void
    ) {
        enclose("[", "]") { json in
            for element in elements {
                json.separate()
                json.needsComma = false
                write(&json, element)
                json.needsComma = true
            }
        }
    }

    package mutating func write(_ value: Double) {
        let thousandths = (value * 1_000).rounded()
        if abs(thousandths) < 1e15, thousandths / 1_000 == value {
            // With at most 15 digits no other decimal is as short and as near.
            let number = Int64(thousandths)
            write(number.magnitude, decimals: 3, isNegative: number < 0)
        } else if value.rounded(.towardZero) == value, abs(value) < 1e15 {
            write(Int64(value).magnitude, isNegative: value < 0)
        } else {
            append(value.description)
        }
    }

    package mutating func write(_ time: Timestamp) {
        write(time.microseconds.magnitude, decimals: 6, isNegative: time.microseconds < 0)
    }

    /// A number without its last `decimals` digits, and those after a point, without zeros at the end.
    private mutating func write(_ number: UInt64, decimals: Int = 0, isNegative: Bool) {
        var (rest, count) = (number, decimals)
        while count > 0, rest % 10 == 0 { (rest, count) = (rest / 10, count - 1) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 24) { text in
            var (place, written) = (text.count, 0)
            func put(_ byte: UInt8) {
                place -= 1
                text[place] = byte
            }
            repeat {
                if written == count, count > 0 { put(UInt8(ascii: ".")) }
                put(UInt8(ascii: "0") + UInt8(rest % 10))
                (rest, written) = (rest / 10, written + 1)
            } while rest > 0 || written <= count
            if isNegative { put(UInt8(ascii: "-")) }
            bytes += text[place...]
        }
    }

    /// A string of printable ASCII.
    package mutating func write(ascii text: String) {
        append("\"")
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\"") { append("\\") }
            bytes.append(byte)
        }
        append("\"")
    }

    package mutating func writeNull() {
        append("null")
    }

    private mutating func enclose(_ open: StaticString, _ close: StaticString, _ content: (inout JSONWriter) -> Void) {
        append(open)
        needsComma = false
        content(&self)
        append(close)
        needsComma = true
    }

    private mutating func name(_ key: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(key)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }
}
