import Bus
import Workouts

/// The chunks of one kind of one session that have arrived, of the newest revision received.
package struct ChunkProgress: Equatable, Sendable {
    package var revision: Int64 = -1
    package var count = 0
    /// The number of chunks in the summary; `nil` until it arrives.
    package var total: Int?

    package init(revision: Int64 = -1, count: Int = 0, total: Int? = nil) {
        self.revision = revision
        self.count = count
        self.total = total
    }

    /// Whether a summary of at least `wanted` and all of its chunks have arrived.
    package func isComplete(for wanted: Int64) -> Bool { revision >= wanted && count == total }
}

/// The chunks of one kind of one session, of the newest revision received, as payloads.
struct ChunkSet {
    /// The memory of a payload besides its bytes.
    private static let overhead = 128

    /// The newest summary.
    private var announced: (revision: Int64, count: Int)?
    /// The revision of the payloads.
    private var revision: Int64 = -1
    private var payloads: [Int: [UInt8]] = [:]
    /// Bytes, overhead included.
    private(set) var cost = 0

    /// Removes payloads that are older than a revision.
    mutating func outdate(before newest: Int64) {
        guard revision < newest else { return }
        revision = newest
        payloads = [:]
        cost = 0
    }

    mutating func insert(_ payload: ArraySlice<UInt8>, number: Int, revision: Int64) {
        guard revision == self.revision else { return }
        if let old = payloads[number] { cost -= old.count + Self.overhead }
        payloads[number] = [UInt8](payload)
        cost += payload.count + Self.overhead
    }

    mutating func announce(revision: Int64, count: Int) {
        guard revision >= announced?.revision ?? -1 else { return }
        announced = (revision, count)
        outdate(before: revision)
    }

    /// Whether all chunks of a summary of at least this revision are present.
    func isComplete(for wanted: Int64) -> Bool {
        guard let announced, announced.revision >= wanted else { return false }
        guard announced.count > 0 else { return true }
        return announced.revision == revision && payloads.count >= announced.count
            && (0..<announced.count).allSatisfy { payloads[$0] != nil }
    }

    /// The number of chunks present.
    var progress: ChunkProgress {
        let total = announced.flatMap { $0.revision == revision ? $0.count : nil }
        return ChunkProgress(revision: revision, count: payloads.keys.count { $0 < total ?? .max }, total: total)
    }

    /// All chunks in order.
    func chunks() throws(PayloadError) -> [FinalChunk] {
        guard let announced, announced.count > 0 else { return [] }
        var chunks: [FinalChunk] = []
        for number in 0..<announced.count {
            guard let payload = payloads[number] else { throw .malformed("chunk \(number) is missing") }
            let chunk = try FinalChunk(payload[...])
            guard chunk.revision == announced.revision, chunk.number == number, chunk.count == announced.count else {
                throw .malformed("chunk \(number) has another revision or number")
            }
            chunks.append(chunk)
        }
        return chunks
    }
}
