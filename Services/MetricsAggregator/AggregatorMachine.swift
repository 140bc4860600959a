import Bus
import MQTT
import Storage
import Workouts

/// The sessions that are in memory and what items, states and time do to them.
///
/// It reads no clock and performs nothing; its sessions are objects, so that a message copies none. Items that were taken count only once their commit is confirmed.
struct AggregatorMachine {
    /// Live metrics of a session at most this often, in seconds.
    static let metricsInterval = 1.0
    /// A session without items for this long has no live values.
    static let silence = 15.0
    /// A summary is made at most this often while items come, and beyond `manyItems` less often.
    static let summaryInterval = 1.0
    static let longSummaryInterval = 10.0
    static let manyItems = 10_000
    /// How long the chunks of `series` stay retained.
    static let seriesLifetime = 3_600.0
    /// Gaps of one stream are answered at most this often.
    static let gapInterval = 0.1
    /// A session that is over leaves memory after this long without anything new.
    static let idleLimit = 60.0
    /// Live metrics that have become inexact are made anew at most this often, and beyond `manyItems` less often.
    static let foldInterval = 10.0
    static let longFoldInterval = 60.0
    /// What is older than this is not announced.
    static let newsLimit = 60.0
    /// All sessions are looked at this often for what comes with time alone.
    private static let sweepInterval = 1.0

    var sessions: [SessionKey: LiveSession] = [:]
    /// Sessions whose live metrics have changed since they were published.
    var withNews: Set<SessionKey> = []
    /// Sessions whose summary is to be made.
    var awaitingSummary: Set<SessionKey> = []
    /// Sessions whose live metrics are to be made anew from all their items.
    private(set) var stale: Set<SessionKey> = []
    /// Sessions whose distance has grown.
    private var withSplits: Set<SessionKey> = []
    /// Deleted sessions of which something is stored.
    private(set) var toPurge: Set<SessionKey> = []
    /// Sessions whose chunks have stood retained for their hour.
    var withExpiredSeries: Set<SessionKey> = []
    private(set) var statusCounts: [SessionStatus: Int] = [:]
    private var sweptAt: Timestamp?
    /// Sessions that items came for since the last commit.
    private var touched: [LiveSession] = []
    /// Sessions whose record goes into the next commit.
    private(set) var unsaved: Set<SessionKey> = []

    // MARK: Items

    /// Takes a batch of a session that is in memory with this stream.
    mutating func receive(_ batch: SampleBatch, from device: Device, of key: SessionKey, now: Timestamp)
        -> SampleStream.Outcome
    {
        guard let session = sessions[key] else { return .full }
        if session.state.status == .deleted { return .dropped }
        if !session.isTouched {
            session.isTouched = true
            touched.append(session)
        }
        return session.receive(batch, from: device, now: now)
    }

    /// How many items the next commit stores.
    var pendingItems: Int { touched.reduce(0) { $0 + $1.pendingItems } }

    /// A stored piece of a stream.
    struct Chunk {
        let shard: Shard
        let key: String
        let bytes: [UInt8]
    }

    /// The chunks that make the pending items durable. A summary that will not know them is marked in the record.
    mutating func stage() -> [Chunk] {
        var chunks: [Chunk] = []
        for session in touched {
            let staged = session.stage()
            if !staged.isEmpty, session.isOver, !session.record.needsSummary {
                session.record.needsSummary = true
                unsaved.insert(session.state.key)
            }
            chunks += staged
        }
        return chunks
    }

    /// The pending items are on disk: they count from now on.
    mutating func committed(now: Timestamp) {
        for session in touched where session.pendingItems > 0 {
            let key = session.state.key
            session.committed(now)
            session.heardAt = now
            session.isSilent = false
            if session.live?.isExact == false { requestFold(key, now) }
            if let splits = session.live?.splits, splits.count > session.announcedSplits { withSplits.insert(key) }
            withNews.insert(key)
            if session.isOver { requestSummary(key, now) }
        }
        unsaved = []
    }

    /// The commit failed: what was taken is expected again.
    mutating func discardPending() {
        for session in touched {
            session.discardPending()
            session.isTouched = false
        }
        touched = []
    }

    /// The acknowledgements that are due, one for each stream.
    mutating func takeAcks() -> [MQTTMessage] {
        defer { touched = [] }
        return touched.flatMap { session in
            session.isTouched = false
            return session.takeAcks()
        }
    }

    // MARK: States

    /// Takes over a session from the store, its streams not read yet.
    mutating func load(_ record: SessionRecord, now: Timestamp) {
        let key = record.state.key
        sessions[key] = LiveSession(stored: record, heardAt: now)
        if record.state.status == .deleted { return }
        requestFold(key, now)
        if record.needsSummary { requestSummary(key, now) }
    }

    /// Takes a session's state; an older one changes nothing.
    mutating func receive(_ state: SessionState, now: Timestamp) {
        let key = state.key
        if let known = sessions[key]?.state {
            guard state.revision > known.revision else { return }
            sessions[key]?.record.state = state
            if state.segments != known.segments || Physiology(state) != Physiology(known) || state.units != known.units
            {
                stale.insert(key)
                sessions[key]?.foldDue = now
            }
        } else {
            sessions[key] = LiveSession(new: state, heardAt: now)
        }
        guard state.status != .deleted else { return purge(key, state, now) }
        withNews.insert(key)
        unsaved.insert(key)
        guard sessions[key]?.isOver == true else { return }
        sessions[key]?.record.needsSummary = true
        requestSummary(key, now)
    }

    /// Asks for the live metrics to be made anew: at once, or when the last time is long enough ago.
    private mutating func requestFold(_ key: SessionKey, _ now: Timestamp) {
        guard let session = sessions[key], stale.insert(key).inserted else { return }
        let interval = session.count > Self.manyItems ? Self.longFoldInterval : Self.foldInterval
        session.foldDue = max(now, session.foldedAt.map { $0 + interval } ?? now)
    }

    /// The sessions whose live metrics are due to be made anew.
    func foldsDue(now: Timestamp) -> [SessionKey] {
        stale.filter { key in
            guard let session = sessions[key], session.hasMetrics else { return false }
            return session.foldDue.map { $0 <= now } ?? true
        }
    }

    /// The kilometres or miles that have just been done.
    mutating func takeFinishedSplits(now: Timestamp) -> [(key: SessionKey, number: Int, at: Timestamp)] {
        defer { withSplits = [] }
        return withSplits.compactMap { key in
            guard let split = sessions[key]?.takeFinishedSplit(now), sessions[key]?.hasMetrics == true else {
                return nil
            }
            return (key, split.number, split.at)
        }
    }

    /// Asks for a summary: at once, or when the last one is old enough.
    mutating func requestSummary(_ key: SessionKey, _ now: Timestamp) {
        guard let session = sessions[key], awaitingSummary.insert(key).inserted else { return }
        let isLong = session.count > Self.manyItems
        let interval = isLong ? Self.longSummaryInterval : Self.summaryInterval
        sessions[key]?.summaryDue = max(now, session.summarizedAt.map { $0 + interval } ?? now)
    }

    // MARK: Time

    /// Notices what comes with time alone: sessions fall silent, and those that are over leave memory.
    ///
    /// Returns whether it was time to look.
    mutating func sweep(now: Timestamp) -> Bool {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval || now < $0 }) ?? true else { return false }
        sweptAt = now
        statusCounts = [:]
        for (key, session) in sessions {
            statusCounts[session.state.status, default: 0] += 1
            if session.becomesSilent(now) { withNews.insert(key) }
            if let until = session.record.seriesUntil, until <= now { withExpiredSeries.insert(key) }
            if session.isIdle(now), !awaitingSummary.contains(key), !unsaved.contains(key), !toPurge.contains(key) {
                forget(key)
            }
        }
        return true
    }

    private mutating func forget(_ key: SessionKey) {
        guard let session = sessions.removeValue(forKey: key) else { return }
        if session.isTouched { touched.removeAll { $0 === session } }
        unsaved.remove(key)
        withNews.remove(key)
        stale.remove(key)
        withSplits.remove(key)
        toPurge.remove(key)
        awaitingSummary.remove(key)
    }

    /// Takes over the stream of a device from the store.
    mutating func load(_ stream: SampleStream, from device: Device, of key: SessionKey) {
        sessions[key]?.load(stream, from: device)
    }

    /// Takes over all of a session that is in the store, and makes the live fold anew.
    ///
    /// - Parameters:
    ///   - samples: all items on disk, by device.
    ///   - streams: their streams.
    mutating func fold(
        _ key: SessionKey, _ samples: [Device: [Sample]], streams: [Device: SampleStream], now: Timestamp
    ) {
        guard let session = sessions[key] else { return }
        for device in streams.keys.sorted() {
            if let stream = streams[device] { session.load(stream, from: device) }
        }
        session.hasAllStreams = true
        let isFirst = session.live == nil
        session.live = LiveMetrics(
            streams: samples, segments: session.state.segments, physiology: Physiology(session.state),
            units: session.state.units, now: now, shown: session.live)
        // What was done before this process began was announced by an earlier one.
        if isFirst { session.announcedSplits = session.live?.splits.count ?? 0 }
        session.foldedAt = now
        session.foldDue = nil
        stale.remove(key)
        withSplits.insert(key)
        withNews.insert(key)
    }

    /// Forgets sessions that are another process's now.
    mutating func drop(where isLost: (SessionKey) -> Bool) {
        for key in sessions.keys.filter(isLost) { forget(key) }
    }

    // MARK: Deletion

    /// What was taken and is due of a deleted session is no longer wanted.
    private mutating func purge(_ key: SessionKey, _ state: SessionState, _ now: Timestamp) {
        let record = SessionRecord(deleted: state, mostChunks: sessions[key]?.record.mostChunks ?? 0)
        forget(key)
        sessions[key] = LiveSession(stored: record, heardAt: now)
        toPurge.insert(key)
    }

    /// Nothing is stored any more but that it was deleted. Returns what clears its retained topics.
    mutating func purged(_ key: SessionKey) -> [MQTTMessage] {
        toPurge.remove(key)
        let most = sessions[key]?.record.mostChunks ?? 0
        sessions[key]?.record.mostChunks = 0
        return Self.cleared(key) + Self.cleared(key, from: 0, to: most)
    }
}
