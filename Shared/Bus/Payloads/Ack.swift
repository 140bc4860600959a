/// The stored part of a stream, on `samples/{device}/ack` and `locations/{device}/ack`.
package enum Ack: Equatable, Sendable {
    /// All items below this number are on disk. The service expects this number next.
    case next(Int)
    /// The stream starts with a different item than the stored one: the device lost its queue.
    case streamReused
    /// All items below `next` are on disk. The session accepts no more, or no more for `retryAfter` seconds.
    case tooManyItems(next: Int, retryAfter: Int?)

    package var payload: [UInt8] {
        switch self {
        case .next(let number): Array("{\"n\":\(number)}".utf8)
        case .streamReused: Array("{\"error\":\"stream_reused\"}".utf8)
        case .tooManyItems(let next, let retryAfter):
            Array(
                ("{\"error\":\"too_many_items\",\"n\":\(next)" + (retryAfter.map { ",\"retryAfter\":\($0)" } ?? "")
                    + "}")
                    .utf8)
        }
    }

    private struct Body: Decodable {
        var n: Int?
        var error: String?
        var retryAfter: Int?
    }

    package init(_ payload: some Sequence<UInt8>) throws(PayloadError) {
        let body = try JSONCoding.decode(Body.self, from: payload)
        if body.error == "stream_reused" {
            self = .streamReused
            return
        }
        guard let number = body.n, number >= 0 else { throw .malformed("n: missing") }
        switch body.error {
        case nil: self = .next(number)
        case "too_many_items": self = .tooManyItems(next: number, retryAfter: body.retryAfter)
        default: throw .malformed("error: unknown")
        }
    }
}
