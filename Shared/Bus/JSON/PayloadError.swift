/// The reason why a payload, or a part of it, was rejected. A payload that is rejected as a whole changes nothing.
package struct PayloadError: Error, Equatable, Sendable {
    /// The reason in rejections and counter labels: one of a few constants.
    package enum Kind: String, Sendable {
        /// Not valid JSON or not the shape of the message.
        case malformed
        /// More items, deeper nesting or more bytes than a message may have.
        case tooLarge = "too_large"
        /// Values of items that were dropped. The rest of the batch counts.
        case flawedItems = "flawed_items"
    }

    package let kind: Kind
    /// Names the error and, if known, its place.
    package let text: String
    /// The invalid field: `start.countdown`, or an item's key.
    package var field: String?
    /// The field's value as JSON, cut short; `nil` if it is absent.
    package var value: String?
    /// The number of the item.
    package var item: Int?

    package init(kind: Kind, text: String, field: String? = nil, value: String? = nil, item: Int? = nil) {
        self.kind = kind
        self.text = text
        self.field = field
        self.value = value
        self.item = item
    }

    package var reason: String { kind.rawValue }

    package static func malformed(_ text: String, field: String? = nil, value: String? = nil) -> PayloadError {
        PayloadError(kind: .malformed, text: text, field: field, value: value)
    }

    package static func tooLarge(_ text: String) -> PayloadError { PayloadError(kind: .tooLarge, text: text) }

    /// The first bytes of a text from outside, without half a character at the end.
    static func cut(_ bytes: some Collection<UInt8>, to limit: Int = 64) -> String {
        guard bytes.count > limit else { return String(decoding: bytes, as: UTF8.self) }
        var head = Array(bytes.prefix(limit))
        while let last = head.popLast(), last & 0xc0 == 0x80 {}
        return String(decoding: head, as: UTF8.self) + "…"
    }
}
