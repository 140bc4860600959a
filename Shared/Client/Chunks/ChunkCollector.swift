package import Bus
package import ServiceKit
package import Workouts

/// Collects the final series and track of wanted sessions from their chunks on the bus.
///
/// Chunks arrive before their workout: a bounded cache holds the payloads of sessions that are not wanted yet. With a folder,
/// the chunks of a session with many are in a temporary file there. A value without a clock.
package struct ChunkCollector: Sendable {
    /// When the chunks of a wanted session are requested, in seconds.
    package struct Timing: Sendable {
        /// The time from `want` to the first request.
        package var grace = 2.0
        /// The time between the first requests.
        package var interval = 5.0
        /// How many requests come at this interval.
        package var requests = Int.max
        /// The time between further requests.
        package var laterInterval = 3_600.0
        /// From `want` until the session expires.
        package var timeout = 60.0

        package init() {}
    }

    /// Bytes.
    package struct Limits: Sendable {
        /// The memory of all sessions that are not wanted; the oldest is evicted first.
        package var cache: Int
        /// The files of all sessions that are not wanted; the oldest session is evicted first.
        package var cacheFiles: Int
        /// Memory and files of one session; further chunks are dropped.
        package var session: Int
        /// Memory and files of all wanted sessions; further chunks are dropped.
        package var wanted: Int

        package init(
            cache: Int = 64 << 20, cacheFiles: Int = 1 << 30, session: Int = 256 << 20, wanted: Int = 512 << 20
        ) {
            self.cache = cache
            self.cacheFiles = cacheFiles
            self.session = session
            self.wanted = wanted
        }

        /// Room for sessions of 2,000,000 samples and 2,000,000 locations on disk.
        package static let files = Limits(session: 1 << 30, wanted: 4 << 30)
    }

    private struct Collection {
        var series = ChunkSet()
        var track = ChunkSet()
        var want: Want?
        /// The last failed write of a chunk.
        var problem: DurableFolder.Problem?
        /// Counts collections, to evict the oldest.
        let number: Int

        /// Bytes of memory, overhead included.
        var cost: Int { 512 + series.cost + track.cost }
        var fileSize: Int { series.fileSize + track.fileSize }

        subscript(kind: ChunkKind) -> ChunkSet {
            get { kind == .series ? series : track }
            set {
                if kind == .series { series = newValue } else { track = newValue }
            }
        }

        var isComplete: Bool {
            guard let want else { return false }
            return ChunkKind.allCases.allSatisfy { kind in
                want.revisions[kind].map { self[kind].isComplete(for: $0) } ?? true
            }
        }
    }

    private struct Want {
        /// The summaries of the workout; a kind without one has no chunks.
        let revisions: [ChunkKind: Int64]
        var askAt: Moment
        /// Requests so far.
        var asked = 0
        var expiresAt: Moment
    }

    private let limits: Limits
    private let timing: Timing
    private let folder: String?
    private var collections: [SessionKey: Collection] = [:]
    package private(set) var wanted: Set<SessionKey> = []
    /// The memory of sessions that are not wanted, and of wanted ones, in bytes.
    package private(set) var cachedBytes = 0
    package private(set) var wantedBytes = 0
    private var cachedFileBytes = 0
    private var wantedFileBytes = 0
    /// All files, in bytes.
    package var fileBytes: Int { cachedFileBytes + wantedFileBytes }
    private var collectionCount = 0

    /// - Parameter folder: the folder of temporary files; `nil` keeps all chunks in memory.
    package init(limits: Limits = Limits(), timing: Timing = Timing(), folder: String? = nil) {
        self.limits = limits
        self.timing = timing
        self.folder = folder
    }

    // MARK: Messages

    /// Stores a chunk.
    package mutating func receiveChunk(
        _ payload: ArraySlice<UInt8>, number: Int, kind: ChunkKind, of key: SessionKey
    ) throws(PayloadError) {
        let revision = try ChunkHead(payload).revision
        // Of a workout in progress.
        guard revision > 0 else { return }
        let (room, folder) = (limits, folder)
        let held = wantedBytes + wantedFileBytes
        change(key) { collection in
            collection[kind].outdate(before: revision)
            let total = collection.cost + collection.fileSize + payload.count
            guard total <= room.session, collection.want == nil || held + payload.count <= room.wanted else { return }
            do throws(DurableFolder.Problem) {
                try collection[kind].insert(payload, number: number, revision: revision, folder: folder)
            } catch {
                collection.problem = error
            }
        }
    }

    /// The last failed write of a session's chunks. The chunk was dropped.
    package func problem(of key: SessionKey) -> DurableFolder.Problem? { collections[key]?.problem }

    /// Stores the revision and the number of chunks of a summary.
    package mutating func receiveSummary(revision: Int64, chunks: Int, kind: ChunkKind, of key: SessionKey) {
        change(key) { $0[kind].announce(revision: revision, count: chunks) }
    }

    /// The progress of one kind of chunks of a session.
    package func progress(_ kind: ChunkKind, of key: SessionKey) -> ChunkProgress {
        collections[key]?[kind].progress ?? ChunkProgress()
    }

    /// Removes a session.
    package mutating func remove(_ key: SessionKey) {
        guard let collection = collections.removeValue(forKey: key) else { return }
        count(collection, -1)
        wanted.remove(key)
    }

    /// Removes the sessions of lost shards.
    package mutating func drop(where isLost: (SessionKey) -> Bool) {
        for key in collections.keys.filter(isLost) { remove(key) }
    }

    // MARK: Wanted sessions

    /// Starts to collect the chunks of a workout.
    ///
    /// - Parameters:
    ///   - summaries: the workout's `summaries`, by name: `metrics`, `route`.
    ///   - grace: the time to the first request, in seconds, if it is not ``Timing/grace``.
    package mutating func want(
        _ key: SessionKey, summaries: [String: Int64], grace: Double? = nil, now: Moment
    ) {
        let named = ChunkKind.allCases.compactMap { kind in summaries[kind.summary].map { (kind, $0) } }
        let want = Want(
            revisions: Dictionary(uniqueKeysWithValues: named), askAt: now + (grace ?? timing.grace),
            expiresAt: now + timing.timeout)
        change(key) { $0.want = want }
        wanted.insert(key)
    }

    /// The wanted sessions with all their chunks.
    package var complete: [SessionKey] { wanted.filter { collections[$0]?.isComplete ?? false }.sorted() }

    /// Advances the service's clock.
    ///
    /// - Returns: the sessions whose chunks to request, and those that expired without all their chunks.
    package mutating func advance(to now: Moment) -> (requests: [SessionKey], expired: [SessionKey]) {
        var requests: [SessionKey] = []
        var expired: [SessionKey] = []
        for key in wanted.sorted() {
            guard let collection = collections[key], var want = collection.want, !collection.isComplete else {
                continue
            }
            if want.expiresAt <= now {
                expired.append(key)
                wanted.remove(key)
                change(key) { $0.want = nil }
                continue
            }
            if want.askAt <= now {
                requests.append(key)
                want.asked += 1
                want.askAt = now + (want.asked < timing.requests ? timing.interval : timing.laterInterval)
            }
            collections[key]?.want = want
        }
        return (requests, expired)
    }

    /// Removes a complete session and returns its chunks of series and track; `nil` if chunks are missing.
    package mutating func take(_ key: SessionKey) -> (series: CollectedChunks, track: CollectedChunks)? {
        guard let collection = collections[key], let want = collection.want, collection.isComplete else { return nil }
        remove(key)
        return (
            want.revisions[.series] == nil ? CollectedChunks() : collection.series.collected,
            want.revisions[.track] == nil ? CollectedChunks() : collection.track.collected
        )
    }

    // MARK: Bounds

    private mutating func change(_ key: SessionKey, _ body: (inout Collection) -> Void) {
        let known = collections.removeValue(forKey: key)
        if let known { count(known, -1) }
        var collection = known ?? Collection(number: collectionCount)
        if known == nil { collectionCount += 1 }
        body(&collection)
        count(collection, 1)
        collections[key] = collection
        if cachedBytes > limits.cache || cachedFileBytes > limits.cacheFiles { makeRoom() }
    }

    private mutating func count(_ collection: Collection, _ sign: Int) {
        if collection.want == nil {
            cachedBytes += sign * collection.cost
            cachedFileBytes += sign * collection.fileSize
        } else {
            wantedBytes += sign * collection.cost
            wantedFileBytes += sign * collection.fileSize
        }
    }

    /// Evicts the oldest sessions until the cache has some room.
    private mutating func makeRoom() {
        let cached = collections.filter { $0.value.want == nil }.sorted { $0.value.number < $1.value.number }
        for (key, _) in cached {
            let hasRoom = cachedBytes <= limits.cache / 8 * 7 && cachedFileBytes <= limits.cacheFiles / 8 * 7
            if hasRoom { return }
            remove(key)
        }
    }
}
