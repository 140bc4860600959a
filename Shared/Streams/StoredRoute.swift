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
    /// Whether the track could not be read. It stays until a readable one of this revision or a newer one is complete.
    var isUnreadable: Bool?

    /// Routes above this revision replace it.
    var floor: Int64 { isUnreadable == true ? revision - 1 : revision }

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

/// Puts the columns of a track together that summaries use, one chunk after the other.
private struct TrackReader: Sendable {
    let revision: Int64
    let count: Int
    private var next = 0
    private var isValid = true
    private var times: [Timestamp] = []
    private var columns: [Track.Kind: CompactNumbers] = [:]

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
        for kind in Track.Kind.allCases where kind.isJoined {
            let values = part[kind]
            guard values != nil || columns[kind] != nil else { continue }
            var numbers =
                columns[kind] ?? CompactNumbers(count: times.count, scale: kind == .distance ? 1e3 : 1e6)
            for row in part.times.indices { numbers.append(values?[row] ?? .nan) }
            columns[kind] = numbers
        }
        times += part.times
    }

    /// Whether it has all chunks, or an invalid one.
    var isDone: Bool { next == count || !isValid }

    /// `nil` after an invalid chunk.
    var track: Track? {
        guard isValid else { return nil }
        return Track(
            times: times,
            columns: Track.Kind.allCases.compactMap { kind in
                columns[kind].map { Track.Column(kind: kind, numbers: $0) }
            })
    }
}

extension Track.Kind {
    /// Whether a summary of samples may use the column. The others would take most of the memory.
    fileprivate var isJoined: Bool {
        switch self {
        case .latitude, .longitude, .course, .horizontalAccuracy: false
        default: true
        }
    }
}
