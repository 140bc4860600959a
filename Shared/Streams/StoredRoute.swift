import Bus
import Storage
import Workouts

/// A route that is in the store: its totals, and where its track is.
struct StoredRoute: Codable, Equatable, Sendable {
    /// Two places for tracks: a new one is stored beside the one in use.
    enum Slot: String, Codable, Sendable {
        case first = "a"
        case second = "b"

        var other: Slot { self == .first ? .second : .first }
    }

    /// Chunks that are read at one time.
    private static let page = 32

    let revision: Int64
    /// The number of chunks of the track.
    let chunks: Int
    let slot: Slot
    let totals: RouteSummary

    /// At most this many rows.
    var rows: Int { chunks * FinalRows.chunkLimit }

    /// Reads the track of a session. Returns `nil` if it is unreadable, or if another one has replaced it.
    func input(_ key: SessionKey, _ store: any Store) async throws(StoreError) -> RouteInput? {
        let folder = StoreFolder(shard: key.session.shard, path: StreamStore.trackFolder(key, slot))
        var rest = StoreRange(folder)
        var reader = TrackReader(revision: revision, count: chunks)
        while !reader.isDone {
            let records = try await store.records(in: StreamStore.tracks, of: rest, limit: Self.page)
            guard let last = records.last else { return nil }
            rest = rest.after(last.key)
            let before = reader
            reader = await onComputingThread {
                var reader = before
                for record in records { reader.add(record.value) }
                return reader
            }
        }
        return reader.track.map { RouteInput(track: $0, totals: totals) }
    }
}

/// Puts a track together from its chunks, one after the other.
private struct TrackReader: Sendable {
    let revision: Int64
    let count: Int
    private var next = 0
    private var isValid = true
    private var times: [Timestamp] = []
    private var columns: [Track.Kind: [Double?]] = [:]

    init(revision: Int64, count: Int) {
        self.revision = revision
        self.count = count
    }

    mutating func add(_ payload: [UInt8]) {
        guard isValid, let chunk = try? FinalChunk(payload[...]), chunk.revision == revision, chunk.number == next,
            chunk.count == count
        else {
            isValid = false
            return
        }
        next += 1
        let part = [chunk].track
        for column in part.columns {
            // A column may begin in a later chunk.
            let missing = times.count - (columns[column.kind]?.count ?? 0)
            columns[column.kind, default: []] += [Double?](repeating: nil, count: missing) + column.values
        }
        times += part.times
    }

    /// Whether it has all chunks, or an invalid one.
    var isDone: Bool { next == count || !isValid }

    /// `nil` after an invalid chunk.
    var track: Track? {
        guard isValid else { return nil }
        let found = Track.Kind.allCases.compactMap { kind in
            columns[kind].map { values in
                Track.Column(
                    kind: kind, values: values + [Double?](repeating: nil, count: times.count - values.count))
            }
        }
        return Track(times: times, columns: found)
    }
}
