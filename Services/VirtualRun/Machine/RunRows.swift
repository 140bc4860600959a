import Bus
import Client
import ServiceKit
import Workouts

/// Collects the rows of finished sessions, for results and for ghosts.
struct RunRows {
    private var collector = ChunkCollector(timing: .virtualRun)
    /// The summaries whose rows it collects.
    private var collecting: [SessionKey: [String: Int64]] = [:]

    /// The sessions whose rows are being collected.
    var wanted: Set<SessionKey> { collector.wanted }

    /// The sessions with all rows.
    var complete: [SessionKey] { collector.complete }

    /// Begins to collect, unless the same rows are being collected.
    mutating func collect(_ key: SessionKey, _ summaries: [String: Int64], now: Moment) {
        guard collecting[key] != summaries || !collector.wanted.contains(key) else { return }
        restart(key, summaries, now: now)
    }

    /// Begins to collect, or to ask for what is missing at the first interval again.
    mutating func restart(_ key: SessionKey, _ summaries: [String: Int64], now: Moment) {
        collecting[key] = summaries
        collector.want(key, summaries: summaries, now: now)
    }

    mutating func remove(_ key: SessionKey) {
        collecting[key] = nil
        collector.remove(key)
    }

    mutating func receiveSummary(revision: Int64, chunks: Int, kind: ChunkKind, of key: SessionKey) {
        collector.receiveSummary(revision: revision, chunks: chunks, kind: kind, of: key)
    }

    mutating func receiveChunk(
        _ payload: ArraySlice<UInt8>, number: Int, kind: ChunkKind, of key: SessionKey
    ) throws(PayloadError) {
        try collector.receiveChunk(payload, number: number, kind: kind, of: key)
    }

    /// Removes and returns complete rows; `nil` if there are none. Throws if they are unreadable; they are removed too.
    mutating func take(_ key: SessionKey) throws(PayloadError) -> (series: Series, track: Track)? {
        collecting[key] = nil
        guard let (series, track) = collector.take(key) else { return nil }
        return (try series.readChunks().series, try track.readChunks().track)
    }

    /// Ends what waited too long. Returns the sessions whose rows are to be asked for.
    mutating func advance(to now: Moment) -> [SessionKey] {
        let overdue = collector.advance(to: now)
        for key in overdue.expired { collecting[key] = nil }
        return overdue.requests
    }
}
