import Bus
import Workouts

/// The chunks of one kind of one session, of the newest revision that was heard of, as they came.
struct ChunkSet {
    /// What holding a payload costs besides its bytes.
    private static let overhead = 128

    /// What the summary says.
    private var announced: (revision: Int64, count: Int)?
    /// The revision that the payloads carry.
    private var revision: Int64 = -1
    private var payloads: [Int: [UInt8]] = [:]
    /// Bytes, with what holding them costs.
    private(set) var cost = 0

    /// The revision that a chunk carries, read without reading its rows where it stands at the end.
    static func revision(of payload: ArraySlice<UInt8>) throws(PayloadError) -> Int64 {
        let tail = payload.suffix(40)
        let mark = Array(#","revision":"#.utf8)
        let starts = tail.indices.dropLast(mark.count)
        if tail.last == UInt8(ascii: "}"), let start = starts.last(where: { tail[$0...].starts(with: mark) }),
            let revision = Int64(String(decoding: tail[(start + mark.count)...].dropLast(), as: UTF8.self)),
            revision >= 0
        {
            return revision
        }
        return try FinalChunk(payload).revision
    }

    /// Lets go of what is older than a revision.
    mutating func outdate(before newest: Int64) {
        guard revision < newest else { return }
        revision = newest
        payloads = [:]
        cost = 0
    }

    mutating func insert(_ payload: ArraySlice<UInt8>, number: Int, revision: Int64) {
        guard revision == self.revision else { return }
        remove(number)
        // A slice would keep the bytes of its whole batch.
        payloads[number] = [UInt8](payload)
        cost += payload.count + Self.overhead
    }

    mutating func remove(_ number: Int) {
        guard let old = payloads.removeValue(forKey: number) else { return }
        cost -= old.count + Self.overhead
    }

    mutating func announce(revision: Int64, count: Int) {
        guard revision >= announced?.revision ?? -1 else { return }
        announced = (revision, count)
        outdate(before: revision)
    }

    /// Whether all is there of a summary of at least a revision.
    func isComplete(for wanted: Int64) -> Bool {
        guard let announced, announced.revision >= wanted else { return false }
        guard announced.count > 0 else { return true }
        return announced.revision == revision && payloads.count >= announced.count
            && (0..<announced.count).allSatisfy { payloads[$0] != nil }
    }

    /// How far it has come, for people.
    var progress: ChunkProgress {
        let total = announced.flatMap { $0.revision == revision ? $0.count : nil }
        return ChunkProgress(revision: revision, count: payloads.keys.count { $0 < total ?? .max }, total: total)
    }

    /// All chunks in their order.
    func chunks() throws(PayloadError) -> [FinalChunk] {
        guard let announced, announced.count > 0 else { return [] }
        var chunks: [FinalChunk] = []
        for number in 0..<announced.count {
            guard let payload = payloads[number] else { throw .malformed("chunk \(number) is missing") }
            let chunk = try FinalChunk(payload[...])
            guard chunk.revision == announced.revision, chunk.number == number, chunk.count == announced.count else {
                throw .malformed("chunk \(number) is of another revision or number")
            }
            chunks.append(chunk)
        }
        return chunks
    }
}
