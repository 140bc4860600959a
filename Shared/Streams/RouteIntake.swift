import Bus
import ServiceKit
import Storage
import Workouts

/// Takes in the newest route of a session that route-builder publishes: its summary, and its track in chunks.
///
/// Chunks are stored as they arrive, in the slot that is not in use; memory keeps their numbers. The commit that completes
/// the route names this slot in the session's record and empties the other. An interrupted intake starts again.
struct RouteIntake {
    /// The chunks of one revision.
    private struct Arrival {
        let revision: Int64
        /// The numbers of those on disk.
        var stored: Set<Int> = []
        /// The chunks of the next commit.
        var pending: [Int: [UInt8]] = [:]
        /// Whether the slot has nothing else.
        var isSlotEmptied = false

        func isComplete(_ count: Int) -> Bool {
            stored.count + pending.count >= count
                && (0..<count).allSatisfy { stored.contains($0) || pending[$0] != nil }
        }
    }

    let key: SessionKey
    /// The newest summary on the bus.
    private var summary: RouteReport?
    private var arrival: Arrival?
    /// When to request the chunks; `nil` without a summary.
    private var requestAt: Moment?
    /// When to stop requesting: route-builder publishes the summary again when it returns.
    private var endAt: Moment?

    init(_ key: SessionKey) {
        self.key = key
    }

    /// Starts again with a route whose stored track is unreadable.
    init(_ key: SessionKey, again route: StoredRoute, now: Moment) {
        self.init(key)
        receiveReport(
            RouteReport(revision: route.revision, state: 0, next: [:], chunks: route.chunks, totals: route.totals),
            beside: route, now: now)
    }

    /// Receives a summary. Older revisions change nothing, and the same one requests missing chunks again.
    mutating func receiveReport(_ report: RouteReport, beside stored: StoredRoute?, now: Moment) {
        guard report.revision > stored?.floor ?? -1, report.revision >= summary?.revision ?? -1 else { return }
        if let arrival, arrival.revision < report.revision { self.arrival = nil }
        let isNew = report.revision != summary?.revision
        summary = report
        // Its lines may have 56 KiB; the totals need a few points of them.
        summary?.totals.polyline = report.totals.sketch.map { [$0] } ?? []
        endAt = now + StreamTimes.routeTimeout
        guard isNew || requestAt == nil else { return }
        // The chunks of a long track follow their summary, those of others precede it.
        requestAt = report.chunks > StreamTimes.chunksAtOnce ? now + StreamTimes.repetition : now
    }

    /// Receives a chunk. Chunks of older revisions change nothing; one of a newer revision drops those before.
    mutating func receiveChunk(
        _ payload: ArraySlice<UInt8>, _ head: ChunkHead, beside stored: StoredRoute?, now: Moment
    ) {
        guard head.revision > stored?.floor ?? -1, head.revision >= summary?.revision ?? -1,
            head.revision >= arrival?.revision ?? -1
        else { return }
        var arrival = arrival.flatMap { $0.revision == head.revision ? $0 : nil } ?? Arrival(revision: head.revision)
        if !arrival.stored.contains(head.number) { arrival.pending[head.number] = [UInt8](payload) }
        self.arrival = arrival
        if let due = requestAt { requestAt = max(due, now + StreamTimes.repetition) }
    }

    /// Whether the chunks are to be requested now.
    func isRequestDue(_ now: Moment) -> Bool { isActive(now) && !isComplete && requestAt.map { $0 <= now } ?? false }

    mutating func requested(_ now: Moment) {
        requestAt = now + StreamTimes.repetition
    }

    /// Whether it still expects chunks.
    func isActive(_ now: Moment) -> Bool { endAt.map { now < $0 } ?? false }

    /// Whether the next commit completes the route.
    var isComplete: Bool {
        guard let summary else { return false }
        return summary.chunks == 0
            || arrival?.revision == summary.revision && arrival?.isComplete(summary.chunks) == true
    }

    /// The route that the next commit completes.
    func completed(beside stored: StoredRoute?) -> StoredRoute? {
        guard isComplete, let summary else { return nil }
        return StoredRoute(
            revision: summary.revision, chunks: summary.chunks, slot: stored?.slot.other ?? .first,
            totals: summary.totals)
    }

    /// The changes of the next commit in the collection of tracks.
    func changes(beside stored: StoredRoute?) -> [StoreWrite.Change] {
        let slot = stored?.slot.other ?? .first
        let folder = StreamStore.trackFolder(key, slot)
        var changes: [StoreWrite.Change] = []
        if let arrival, !arrival.pending.isEmpty {
            if !arrival.isSlotEmptied { changes.append(.deleteFolder(path: folder)) }
            changes += arrival.pending.sorted { $0.key < $1.key }.map { number, payload in
                .put(key: StreamStore.chunkKey(folder, number), value: payload)
            }
        }
        if isComplete { changes.append(.deleteFolder(path: StreamStore.trackFolder(key, slot.other))) }
        return changes
    }

    /// The pending chunks are on disk.
    mutating func committed() {
        guard let pending = arrival?.pending, !pending.isEmpty else { return }
        arrival?.stored.formUnion(pending.keys)
        arrival?.pending = [:]
        arrival?.isSlotEmptied = true
    }

    /// Drops the pending chunks after a failed commit.
    mutating func discardPending() {
        arrival?.pending = [:]
    }
}
