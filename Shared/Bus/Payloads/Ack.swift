package import Workouts

/// The stored part of a stream, on `samples/{device}/ack` and `locations/{device}/ack`.
package enum Ack: Equatable, Sendable {
    /// All items below this number are on disk. The service expects this number next.
    case next(Int)
    /// The stream starts with a different item than the stored one: the device lost its queue.
    case streamReused
    /// All items below `next` are on disk. The session accepts no more, or no more for `retryAfter` seconds.
    case tooManyItems(next: Int, retryAfter: Int?)

    /// - Parameters:
    ///   - now: the service's clock, for a device whose clock is off.
    ///   - epoch: the owner's epoch. A new owner may lack batches in flight.
    package func payload(now: Timestamp, epoch: Int64? = nil) -> [UInt8] {
        var json = JSONWriter()
        json.object {
            switch self {
            case .next(let number): $0.field("n", Int64(number))
            case .streamReused: $0.field("error", plain: "stream_reused")
            case .tooManyItems(let next, let retryAfter):
                $0.field("error", plain: Self.tooManyItemsCode)
                $0.field("n", Int64(next))
                if let retryAfter { $0.field("retryAfter", Int64(retryAfter)) }
            }
            if let epoch { $0.field("e", epoch) }
            $0.field("now", Timestamp(microseconds: now.microseconds / 1000 * 1000))
        }
        return json.bytes
    }

    private static let tooManyItemsCode = "too_many_items"

    private struct Body: Decodable {
        var n: Int?
        var error: String?
        var retryAfter: Int?
        var e: Int64?
        var now: Timestamp?

        var ack: Ack {
            get throws(PayloadError) {
                if error == "stream_reused" { return .streamReused }
                guard let n, n >= 0 else { throw .malformed("n: missing") }
                switch error {
                case nil: return .next(n)
                case tooManyItemsCode: return .tooManyItems(next: n, retryAfter: retryAfter)
                default: throw .malformed("error: unknown")
                }
            }
        }
    }

    package init(_ payload: some Sequence<UInt8>) throws(PayloadError) {
        self = try Self.read(payload).ack
    }

    /// The acknowledgement with the owner's epoch and the service's clock, if it states them.
    package static func read(
        _ payload: some Sequence<UInt8>
    ) throws(PayloadError) -> (ack: Ack, epoch: Int64?, now: Timestamp?) {
        let body = try JSONCoding.decode(Body.self, from: payload)
        return (try body.ack, body.e, body.now)
    }
}
