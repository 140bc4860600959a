package import Workouts

/// How far a session's items have come, read from a payload of `metrics` or `route` without reading the rest of it.
package struct MetricsProgress: Equatable, Sendable {
    /// Items stored.
    package var count: Int
    /// The time of the newest item.
    package var newest: Timestamp?

    /// Microseconds that a time may have, so that none is too far from another to be counted.
    private static let times: ClosedRange<Int64> = -4_000_000_000_000_000_000...4_000_000_000_000_000_000

    package init(count: Int, newest: Timestamp?) {
        self.count = count
        self.newest = newest
    }

    package init(_ payload: ArraySlice<UInt8>) throws(PayloadError) {
        self.init(count: -1, newest: nil)
        let outcome: Result<Void, PayloadError> = payload.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes)
            do throws(PayloadError) {
                try read(&scanner)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
        guard count >= 0 else { throw .malformed("n: missing") }
    }

    private mutating func read(_ scanner: inout JSONScanner) throws(PayloadError) {
        try scanner.expect(UInt8(ascii: "{"))
        repeat {
            let key = try scanner.string()
            try scanner.expect(UInt8(ascii: ":"))
            if key.elementsEqual("n".utf8) {
                count = try scanner.number()?.integer ?? -1
            } else if key.elementsEqual("c".utf8) {
                let microseconds = try scanner.number()?.millionths
                newest = microseconds.flatMap { Self.times.contains($0) ? Timestamp(microseconds: $0) : nil }
            } else {
                try scanner.skipValue()
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        try scanner.expectEnd()
    }
}
