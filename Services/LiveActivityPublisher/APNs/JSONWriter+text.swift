import Bus

extension JSONWriter {
    /// Omits the field if there is no value, or none that JSON can represent.
    mutating func field(_ key: StaticString, finite value: Double?) {
        if let value, value.isFinite { field(key, value) }
    }

    /// Any text, truncated to `limit` bytes of JSON.
    mutating func field(_ key: StaticString, text: String, limit: Int) {
        field(key, plain: text.escapedForJSON(limit: limit))
    }
}

extension String {
    /// The text escaped for JSON, at most `limit` bytes. Longer text is truncated between two characters and ends with an
    /// ellipsis.
    func escapedForJSON(limit: Int) -> String {
        if utf8.count <= limit, utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
        {
            return self
        }
        let ellipsis = "…"
        var (escaped, length) = ("", 0)
        var end = escaped.endIndex
        for character in self {
            let piece = character.escapedForJSON
            length += piece.utf8.count
            guard length <= limit else { return escaped[..<end] + ellipsis }
            escaped += piece
            if length + ellipsis.utf8.count <= limit { end = escaped.endIndex }
        }
        return escaped
    }
}

extension Character {
    fileprivate var escapedForJSON: String {
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": escaped += "\\\""
            case "\\": escaped += "\\\\"
            case "\u{0}"..<"\u{20}":
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
