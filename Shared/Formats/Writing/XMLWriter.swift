import Workouts

/// Writes XML 1.0 in UTF-8, a line for each element.
struct XMLWriter {
    /// The text of an element without children, or of an attribute.
    enum Value {
        case number(FixedPoint)
        /// Any text. It is escaped, without characters that XML forbids.
        case text(String)
        /// In UTC, with milliseconds when there are any.
        case time(Timestamp)

        /// A number with few decimals; `nil` for no value or an implausible one.
        static func decimal(_ value: Double?, decimals: Int = 3) -> Value? {
            FixedPoint(value, decimals: decimals).map(Value.number)
        }

        /// The value of a quantity in the form of its element.
        init?(_ element: Quantity.XMLElement, _ value: Double?) {
            guard let form = element.whole.map({ Value.whole(value, in: $0) }) ?? .decimal(value) else { return nil }
            self = form
        }

        /// The nearest whole number, if it is in the range.
        static func whole(_ value: Double?, in range: ClosedRange<Int64>) -> Value? {
            guard let number = FixedPoint(value, decimals: 0), range.contains(number.scaled) else { return nil }
            return .number(number)
        }

        /// A number that the format requires: 0 for an absent or an impossible one.
        static func measured(_ value: Double?) -> Value { value.flatMap { decimal(max(0, $0)) } ?? .text("0") }

        /// Turns or strides a minute, up to the limit of Garmin's formats.
        static func cadence(_ value: Double?) -> Value? { whole(value, in: 0...254) }
    }

    typealias Attribute = (name: StaticString, value: Value)

    var bytes: [UInt8] = []
    private var depth = 0

    init() {
        bytes.append("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
    }

    /// An element with others inside.
    mutating func element(
        _ name: StaticString, _ attributes: [Attribute] = [], _ content: (inout XMLWriter) throws -> Void
    ) rethrows {
        begin(name, attributes)
        try content(&self)
        end(name)
    }

    /// Begins an element with others inside.
    mutating func begin(_ name: StaticString, _ attributes: [Attribute] = []) {
        open(name, attributes)
        bytes.append(">\n")
        depth += 1
    }

    /// Ends the innermost element.
    mutating func end(_ name: StaticString) {
        depth -= 1
        indent()
        close(name)
    }

    /// An element with attributes alone.
    mutating func element(_ name: StaticString, _ attributes: [Attribute]) {
        open(name, attributes)
        bytes.append("/>\n")
    }

    /// An element with a value, which is left out without one.
    mutating func element(_ name: StaticString, _ value: Value?) {
        guard let value else { return }
        open(name, [])
        bytes.append(">")
        write(value)
        close(name)
    }

    private mutating func open(_ name: StaticString, _ attributes: [Attribute]) {
        indent()
        bytes.append("<")
        bytes.append(name)
        for (name, value) in attributes {
            bytes.append(" ")
            bytes.append(name)
            bytes.append("=\"")
            write(value)
            bytes.append("\"")
        }
    }

    private mutating func close(_ name: StaticString) {
        bytes.append("</")
        bytes.append(name)
        bytes.append(">\n")
    }

    private mutating func indent() {
        for _ in 0..<depth { bytes.append(UInt8(ascii: " ")) }
    }

    private mutating func write(_ value: Value) {
        switch value {
        case .number(let number): bytes.append(number)
        case .text(let text): write(text)
        case .time(let time): bytes.append(time, decimals: time.ticks(of: 1_000) % 1_000 == 0 ? 0 : 3)
        }
    }

    private mutating func write(_ text: String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes.append("&amp;")
            case "<": bytes.append("&lt;")
            case ">": bytes.append("&gt;")
            case "\"": bytes.append("&quot;")
            // A reader converts carriage returns to line feeds, and these characters in attributes to blanks.
            case "\t": bytes.append("&#9;")
            case "\n": bytes.append("&#10;")
            case "\r": bytes.append("&#13;")
            case "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"...:
                bytes.append(contentsOf: UTF8.encode(scalar)!)
            default: break
            }
        }
    }
}
