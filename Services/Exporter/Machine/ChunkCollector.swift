import Bus
import Workouts

/// Collects the final series and track of the sessions at work from the chunks that pass on the bus.
///
/// Chunks come before the workout that they belong to: those of sessions that nobody wants yet are kept as they came, in
/// bounded memory. A value without a clock.
struct ChunkCollector {
    /// How long after it was wanted a session's chunks are asked for, in seconds.
    static let grace = 2.0
    /// How often they are asked for, in seconds.
    static let interval = 5.0
    /// How long they are waited for, in seconds.
    static let patience = 60.0

    /// Bytes that are held.
    struct Limits {
        /// Of sessions that nobody wants yet: the one heard of longest ago goes first.
        var cache = 64 << 20
        /// Of one session; what is beyond is not taken.
        var session = 256 << 20
        /// Of all sessions that are wanted; what is beyond is not taken.
        var wanted = 512 << 20
    }

    private struct Collection {
        var series = ChunkSet()
        var track = ChunkSet()
        var want: Want?
        /// When it was first heard of, as a running number.
        let number: Int

        /// Bytes, with what holding it costs.
        var cost: Int { 512 + series.cost + track.cost }

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
        /// The summaries that went into the workout; of a kind without one there is nothing to collect.
        let revisions: [ChunkKind: Int64]
        var askAt: Timestamp
        var giveUpAt: Timestamp
    }

    private let limits: Limits
    private var collections: [SessionKey: Collection] = [:]
    private(set) var wanted: Set<SessionKey> = []
    /// Bytes held of sessions that nobody wants yet, and of those that are wanted.
    private(set) var cachedBytes = 0
    private(set) var wantedBytes = 0
    private var heard = 0

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    // MARK: What passes on the bus

    /// Takes a chunk; an empty payload takes it away.
    mutating func receive(
        _ payload: ArraySlice<UInt8>, number: Int, kind: ChunkKind, of key: SessionKey
    ) throws(PayloadError) {
        guard !payload.isEmpty else {
            return change(key, ifKnown: true) { $0[kind].remove(number) }
        }
        let revision = try ChunkSet.revision(of: payload)
        let room = limits
        let held = wantedBytes
        change(key) { collection in
            collection[kind].outdate(before: revision)
            let total = collection.cost + payload.count
            guard total <= room.session, collection.want == nil || held + payload.count <= room.wanted else { return }
            collection[kind].insert(payload, number: number, revision: revision)
        }
    }

    /// Takes what a summary says of its chunks.
    mutating func receive(revision: Int64, chunks: Int, kind: ChunkKind, of key: SessionKey) {
        change(key) { $0[kind].announce(revision: revision, count: chunks) }
    }

    /// How far one kind of a session's chunks has come.
    func progress(_ kind: ChunkKind, of key: SessionKey) -> ChunkProgress {
        collections[key]?[kind].progress ?? ChunkProgress()
    }

    /// The session is gone, or another process's now.
    mutating func forget(_ key: SessionKey) {
        guard let collection = collections.removeValue(forKey: key) else { return }
        count(collection, -1)
        wanted.remove(key)
    }

    /// Forgets the sessions that are another process's now.
    mutating func drop(where isLost: (SessionKey) -> Bool) {
        for key in collections.keys.filter(isLost) { forget(key) }
    }

    // MARK: What is wanted

    /// A session is at work: what belongs to its workout is collected.
    ///
    /// - Parameter summaries: the workout's own, by name: `metrics`, `route`.
    mutating func want(_ key: SessionKey, summaries: [String: Int64], now: Timestamp) {
        let named = ChunkKind.allCases.compactMap { kind in summaries[kind.summary].map { (kind, $0) } }
        let want = Want(
            revisions: Dictionary(uniqueKeysWithValues: named), askAt: now + Self.grace, giveUpAt: now + Self.patience)
        change(key) { $0.want = want }
        wanted.insert(key)
    }

    /// The wanted sessions of which everything is there.
    var complete: [SessionKey] { wanted.filter { collections[$0]?.isComplete ?? false }.sorted() }

    /// Lets the service's clock pass.
    ///
    /// - Returns: the sessions whose chunks are to be asked for, and those that are not wanted any more, because their chunks
    ///   did not come.
    mutating func advance(to now: Timestamp) -> (requests: [SessionKey], expired: [SessionKey]) {
        var requests: [SessionKey] = []
        var expired: [SessionKey] = []
        for key in wanted.sorted() {
            guard let collection = collections[key], var want = collection.want, !collection.isComplete else {
                continue
            }
            // Times further ahead than they can be were reckoned before the clock was set back.
            want.giveUpAt = min(want.giveUpAt, now + Self.patience)
            want.askAt = min(want.askAt, now + Self.interval)
            if want.giveUpAt <= now {
                expired.append(key)
                wanted.remove(key)
                change(key) { $0.want = nil }
                continue
            }
            if want.askAt <= now {
                requests.append(key)
                want.askAt = now + Self.interval
            }
            collections[key]?.want = want
        }
        return (requests, expired)
    }

    /// Takes out a session of which everything is there; `nil` when that is not so. Whatever is thrown, it is not wanted any
    /// more and nothing of it is held.
    mutating func take(_ key: SessionKey) throws(PayloadError) -> (series: Series, track: Track)? {
        guard let collection = collections[key], let want = collection.want, collection.isComplete else { return nil }
        forget(key)
        let series = want.revisions[.series] == nil ? [] : try collection.series.chunks()
        let track = want.revisions[.track] == nil ? [] : try collection.track.chunks()
        return (series.series, track.track)
    }

    // MARK: Bounds

    private mutating func change(
        _ key: SessionKey, ifKnown: Bool = false, _ body: (inout Collection) -> Void
    ) {
        let known = collections.removeValue(forKey: key)
        if let known { count(known, -1) } else if ifKnown { return }
        var collection = known ?? Collection(number: heard)
        if known == nil { heard += 1 }
        body(&collection)
        count(collection, 1)
        collections[key] = collection
        if cachedBytes > limits.cache { makeRoom() }
    }

    private mutating func count(_ collection: Collection, _ sign: Int) {
        if collection.want == nil {
            cachedBytes += sign * collection.cost
        } else {
            wantedBytes += sign * collection.cost
        }
    }

    /// Lets the oldest sessions go until there is room for some more.
    private mutating func makeRoom() {
        let cached = collections.filter { $0.value.want == nil }.sorted { $0.value.number < $1.value.number }
        for (key, _) in cached {
            guard cachedBytes > limits.cache / 8 * 7 else { return }
            forget(key)
        }
    }
}
