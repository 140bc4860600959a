package import Bus
package import Formats
package import ServiceKit
package import Workouts

/// All chunks of one kind of a session, in memory or in a temporary file.
package struct CollectedChunks: Sendable {
    private let revision: Int64
    private let payloads: [ChunkSet.Payload]
    private let file: OpenFile?

    init(revision: Int64, payloads: [ChunkSet.Payload], file: OpenFile?) {
        self.revision = revision
        self.payloads = payloads
        self.file = file
    }

    /// No chunks.
    package init() {
        self.init(revision: -1, payloads: [], file: nil)
    }

    /// The bytes that they take in memory and in the file.
    package var size: Int { payloads.reduce(file?.count ?? 0) { $0 + $1.memory } }

    /// Reads all chunks.
    ///
    /// - Throws: the first invalid chunk.
    package func readChunks() throws(PayloadError) -> [FinalChunk] {
        var chunks: [FinalChunk] = []
        for number in payloads.indices { chunks.append(try readChunk(number)) }
        return chunks
    }

    private func readChunk(_ number: Int) throws(PayloadError) -> FinalChunk {
        let chunk = try FinalChunk(try payload(number)[...])
        guard chunk.revision == revision, chunk.number == number, chunk.count == payloads.count else {
            throw .malformed("chunk \(number) has another revision or number")
        }
        return chunk
    }

    private func payload(_ number: Int) throws(PayloadError) -> [UInt8] {
        switch payloads[number] {
        case .memory(let bytes): return bytes
        case .file(let range):
            do throws(DurableFolder.Problem) {
                return try file?.read(range) ?? []
            } catch {
                throw .malformed("chunk \(number): cannot read its temporary file")
            }
        }
    }

    /// Chunks in memory are few: their rows are read once and stay in memory. Others are read in each pass.
    private func rows<Rows>(
        _ join: @escaping @Sendable ([FinalChunk]) -> Rows
    ) throws(PayloadError) -> ChunkedRows<Rows> {
        guard file == nil else { return ChunkedRows(count: payloads.count) { join([try readChunk($0)]) } }
        let rows = join(try readChunks())
        return ChunkedRows(count: 1) { _ in rows }
    }

    package func series() throws(PayloadError) -> ChunkedRows<Series> { try rows(\.series) }
    package func track() throws(PayloadError) -> ChunkedRows<Track> { try rows(\.track) }
}

extension ExportFormat {
    /// Writes a workout to an empty file.
    package func write(_ workout: ExportedWorkout, to file: OpenFile) throws {
        let start = try write(workout) { try file.append($0) }
        if !start.isEmpty { try file.replaceStart(start) }
    }
}
