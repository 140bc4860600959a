/// The two kinds of final rows that are published in chunks.
package enum ChunkKind: String, CaseIterable, Sendable {
    case series, track

    /// The name of its summary in a workout.
    package var summary: String { self == .series ? "metrics" : "route" }
}

/// What a chunk of `series/{n}` or `track/{n}` is a part of.
package struct ChunkHead: Equatable, Sendable {
    /// The revision of the summary that it belongs to; 0 of a session in progress.
    package let revision: Int64
    package let number: Int
    package let count: Int

    /// Reads it from the end of a payload of the form of ``FinalRows/payload(number:revision:)``, without the rows, and
    /// from all of any other valid payload.
    package init(_ payload: ArraySlice<UInt8>) throws(PayloadError) {
        if let head = Self(tail: payload) {
            self = head
            return
        }
        let chunk = try FinalChunk(payload)
        (revision, number, count) = (chunk.revision, chunk.number, chunk.count)
    }

    /// The end has the form `,"n":0,"of":1,"revision":1700000000123}`.
    private init?(tail payload: ArraySlice<UInt8>) {
        guard payload.last == UInt8(ascii: "}") else { return nil }
        var rest = payload.dropLast()
        func takeLast(_ key: String) -> Int64? {
            let digits = rest.reversed().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            rest = rest.dropLast(digits.count)
            let mark = ",\"\(key)\":".utf8
            guard rest.suffix(mark.count).elementsEqual(mark) else { return nil }
            rest = rest.dropLast(mark.count)
            return Int64(String(decoding: digits.reversed(), as: UTF8.self))
        }
        guard let revision = takeLast("revision"), let count = takeLast("of"), let number = takeLast("n"),
            (0..<count).contains(number), count <= Int64(SessionTopic.chunkLimit) + 1
        else { return nil }
        self.revision = revision
        self.number = Int(number)
        self.count = Int(count)
    }
}
