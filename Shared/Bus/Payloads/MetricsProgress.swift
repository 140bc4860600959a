package import Workouts

/// The progress of a session's items, decoded from `metrics` or `route` without the other fields.
package struct MetricsProgress: Equatable, Sendable {
    /// The number of stored items.
    package var count: Int
    /// The time of the newest item.
    package var newest: Timestamp?
    /// Whether a watch or a heart rate of any device is among the items, as far as the payload tells.
    package var hasLiveMetrics = false

    /// The accepted microseconds of a time, so that the difference of any two fits `Int64`.
    private static let times: ClosedRange<Int64> = -4_000_000_000_000_000_000...4_000_000_000_000_000_000

    package init(count: Int, newest: Timestamp?, hasLiveMetrics: Bool = false) {
        self.count = count
        self.newest = newest
        self.hasLiveMetrics = hasLiveMetrics
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
            } else if key.elementsEqual("h".utf8) || key.elementsEqual("hx".utf8) {
                if try scanner.number() != nil { hasLiveMetrics = true }
            } else if key.elementsEqual("ds".utf8) {
                try readDevices(&scanner)
            } else {
                try scanner.skipValue()
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        try scanner.expectEnd()
    }

    /// The names of devices that sent items.
    private mutating func readDevices(_ scanner: inout JSONScanner) throws(PayloadError) {
        guard scanner.take(UInt8(ascii: "{")) else { return try scanner.skipValue() }
        guard !scanner.take(UInt8(ascii: "}")) else { return }
        repeat {
            let name = try scanner.string()
            if name.prefix(while: { $0 != UInt8(ascii: "-") }).elementsEqual("watch".utf8) { hasLiveMetrics = true }
            try scanner.expect(UInt8(ascii: ":"))
            try scanner.skipValue()
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
    }
}
