import ServiceKit

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
    enum Payload {
        case memory([UInt8])
        /// The range in the file.
        case file(Range<Int>)

        /// The memory in bytes, overhead included.
        var memory: Int {
            if case .memory(let bytes) = self { 128 + bytes.count } else { 128 }
        }
    }

    /// The memory of payloads from which on they are in a file.
    static let memoryLimit = 1 << 20

    /// The newest summary.
    private var announced: (revision: Int64, count: Int)?
    /// The revision of the payloads.
    private var revision: Int64 = -1
    private var payloads: [Int: Payload] = [:]
    private var file: OpenFile?
    /// Bytes of memory, overhead included.
    private(set) var cost = 0
    /// Bytes in the file.
    private(set) var fileSize = 0

    /// Removes payloads that are older than a revision.
    mutating func outdate(before newest: Int64) {
        guard revision < newest else { return }
        revision = newest
        payloads = [:]
        file = nil
        (cost, fileSize) = (0, 0)
    }

    /// - Parameter folder: the folder of a temporary file for many payloads; `nil` keeps all of them in memory.
    mutating func insert(
        _ payload: ArraySlice<UInt8>, number: Int, revision: Int64, folder: String?
    ) throws(DurableFolder.Problem) {
        // Chunks of one revision never change, so a repeated one is not written again.
        if case .file = payloads[number] { return }
        guard revision == self.revision else { return }
        if let folder, file != nil || cost + payload.count > Self.memoryLimit {
            let range = try write([UInt8](payload), in: folder)
            replace(number, .file(range))
        } else {
            replace(number, .memory([UInt8](payload)))
        }
    }

    private mutating func replace(_ number: Int, _ payload: Payload) {
        if let old = payloads.updateValue(payload, forKey: number) { cost -= old.memory }
        cost += payload.memory
    }

    /// Writes a payload to the file. The first one takes those in memory with it.
    private mutating func write(_ payload: [UInt8], in folder: String) throws(DurableFolder.Problem) -> Range<Int> {
        if let file { return try append(payload, to: file) }
        let file = try OpenFile.temporary(in: folder)
        self.file = file
        for (number, payload) in payloads {
            guard case .memory(let bytes) = payload else { continue }
            replace(number, .file(try append(bytes, to: file)))
        }
        return try append(payload, to: file)
    }

    private mutating func append(_ bytes: [UInt8], to file: OpenFile) throws(DurableFolder.Problem) -> Range<Int> {
        let start = try file.append(bytes)
        fileSize = start + bytes.count
        return start..<fileSize
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

    /// All chunks of a complete set in order.
    var collected: CollectedChunks {
        let payloads = (0..<(announced?.count ?? 0)).compactMap { self.payloads[$0] }
        return CollectedChunks(revision: revision, payloads: payloads, file: file)
    }
}
