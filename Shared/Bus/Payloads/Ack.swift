/// What a service has on disk of a stream, on `samples/{device}/ack` and `locations/{device}/ack`.
package enum Ack: Equatable, Sendable {
    /// Everything below this number is on disk; it is the one expected next.
    case next(Int)
    /// The stream begins with another item than the one that is stored: the device has lost its queue.
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
