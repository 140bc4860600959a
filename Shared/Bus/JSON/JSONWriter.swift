package import Workouts

/// Writes JSON in one pass, for high-rate messages. Fields keep the order of the calls.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init() {
        bytes.reserveCapacity(128)
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
        append(String(value))
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
        append("\"\(value)\"")
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
        if value.rounded(.towardZero) == value, abs(value) < 1e15 {
            append(String(Int64(value)))
        } else {
            append(value.description)
        }
    }

    package mutating func write(_ time: Timestamp) {
        let (seconds, fraction) = time.microseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
        if time.microseconds < 0 { append("-") }
        append(String(seconds))
        guard fraction > 0 else { return }
        append(".")
        var digits = String(fraction + 1_000_000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        append(String(digits))
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
        append("\"")
        append(key)
        append("\":")
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { append(",") }
    }

    private mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }
}
