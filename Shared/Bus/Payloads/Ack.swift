/// The stored part of a stream, on `samples/{device}/ack` and `locations/{device}/ack`.
package enum Ack: Equatable, Sendable {
    /// All items below this number are on disk. The service expects this number next.
    case next(Int)
    /// The stream starts with a different item than the stored one: the device lost its queue.
    case streamReused

    package var payload: [UInt8] {
        switch self {
        case .next(let number): Array("{\"n\":\(number)}".utf8)
        case .streamReused: Array("{\"error\":\"stream_reused\"}".utf8)
        }
    }

    private struct Body: Decodable {
        var n: Int?
        var error: String?
    }

    package init(_ payload: some Sequence<UInt8>) throws(PayloadError) {
        let body = try JSONCoding.decode(Body.self, from: payload)
        if let error = body.error {
            guard error == "stream_reused" else { throw .malformed("error: unknown") }
            self = .streamReused
        } else {
            guard let number = body.n, number >= 0 else { throw .malformed("n: missing") }
            self = .next(number)
        }
    }
}
