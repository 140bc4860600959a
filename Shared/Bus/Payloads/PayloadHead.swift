package import Workouts

/// What a service that passes payloads on unchanged reads of them.
package struct PayloadHead: Equatable, Sendable {
    /// `revision`, or `s` in high-rate messages; `nil` if the payload has none.
    package private(set) var revision: Int64?
    /// `status`; `nil` if the payload has none.
    package private(set) var status: String?
    /// `c`, the time of the newest item, and `n`, the number of items, of live metrics and routes; `nil` for other payloads.
    package private(set) var newest: Timestamp?
    package private(set) var count: Int64?

    /// Validates the shape of the whole payload, which must be an object.
    package init(_ payload: ArraySlice<UInt8>) throws(PayloadError) {
        try JSONScanner.scan(payload) { (scanner) throws(PayloadError) in try read(&scanner) }
    }

    private mutating func read(_ scanner: inout JSONScanner) throws(PayloadError) {
        try scanner.expect(UInt8(ascii: "{"))
        guard !scanner.take(UInt8(ascii: "}")) else { return try scanner.expectEnd() }
        repeat {
            let key = try scanner.string()
            try scanner.expect(UInt8(ascii: ":"))
            if key.elementsEqual("revision".utf8) || key.elementsEqual("s".utf8) {
                let number = try scanner.number()?.integer.map(Int64.init)
                guard let number, SeenRevision.range.contains(number) else {
                    throw .malformed("revision: out of range", field: "revision")
                }
                revision = number
            } else if key.elementsEqual("status".utf8), scanner.peek() == UInt8(ascii: "\"") {
                status = String(decoding: try scanner.string(), as: UTF8.self)
            } else if key.elementsEqual("c".utf8) {
                newest = try scanner.number()?.millionths.map(Timestamp.init(microseconds:))
            } else if key.elementsEqual("n".utf8) {
                count = try scanner.number()?.integer.map(Int64.init)
            } else {
                try scanner.skipValue()
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        try scanner.expectEnd()
    }
}
