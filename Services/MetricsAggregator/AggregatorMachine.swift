import Bus
import Storage
import Workouts

/// The sessions that are in memory and what items, states and time do to them.
///
/// A value: it reads no clock and performs nothing. Items that were taken count only once their commit is confirmed.
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
    /// All sessions are looked at this often for what comes with time alone.
    private static let sweepInterval = 1.0

    var sessions: [SessionKey: LiveSession] = [:]
    /// Sessions whose live metrics have changed since they were published.
    var withNews: Set<SessionKey> = []
    /// Sessions whose summary is to be made.
    var awaitingSummary: Set<SessionKey> = []
    /// Sessions whose live metrics were made with other segments than they have now.
    private(set) var stale: Set<SessionKey> = []
    /// Sessions whose chunks have stood retained for their hour.
    var withExpiredSeries: Set<SessionKey> = []
    private var sweptAt: Timestamp?
    /// Streams with items that await their commit.
    private(set) var pending: [SessionKey: Set<Device>] = [:]
    /// Sessions whose record goes into the next commit.
    private(set) var unsaved: Set<SessionKey> = []
    /// Streams whose number goes out with the next commit.
    private var owedAcks: [SessionKey: Set<Device>] = [:]

    // MARK: Items

    /// Takes a batch of a session that is in memory with its streams.
    mutating func receive(_ batch: SampleBatch, from device: Device, of key: SessionKey, now: Timestamp)
        -> SampleStream.Outcome
    {
        if sessions[key]?.streams?[device] == nil, sessions[key]?.streams?.count ?? 0 >= SessionAction.streamLimit {
            return .full
        }
        let outcome = sessions[key]?.streams?[device, default: SampleStream()].receive(batch) ?? .full
        switch outcome {
        case .taken:
            pending[key, default: []].insert(device)
            owedAcks[key, default: []].insert(device)
        case .repeated: owedAcks[key, default: []].insert(device)
        case .gap:
            let answered = sessions[key]?.streams?[device]?.answeredGapAt
            if answered.map({ now.seconds(since: $0) >= Self.gapInterval }) ?? true {
                sessions[key]?.streams?[device]?.answeredGapAt = now
                owedAcks[key, default: []].insert(device)
            }
        case .reused, .full: break
        }
        return outcome
    }

    /// A stored piece of a stream.
    struct Chunk {
        let key: SessionKey
        let device: Device
        let number: Int
        let bytes: [UInt8]
    }

    /// The chunks that make the pending items durable. A summary that will not know them is marked in the record.
    mutating func stage() -> [Chunk] {
        var chunks: [Chunk] = []
        for (key, devices) in pending {
            if let session = sessions[key], session.isOver, !session.record.needsSummary {
                sessions[key]?.record.needsSummary = true
                unsaved.insert(key)
            }
            for device in devices {
                guard let changed = sessions[key]?.streams?[device]?.stage() else { continue }
                chunks += changed.map { Chunk(key: key, device: device, number: $0.number, bytes: $0.bytes) }
            }
        }
        return chunks
    }

    /// The pending items are on disk: they count from now on.
    mutating func committed(now: Timestamp) {
        for (key, devices) in pending {
            for device in devices.sorted() { sessions[key]?.commit(device) }
            sessions[key]?.heardAt = now
            sessions[key]?.isSilent = false
            withNews.insert(key)
            if sessions[key]?.isOver == true { requestSummary(key, now) }
        }
        pending = [:]
        unsaved = []
    }

    /// The commit failed: what was taken is expected again.
    mutating func discardPending() {
        for (key, devices) in pending {
            for device in devices { sessions[key]?.streams?[device]?.discardPending() }
        }
        pending = [:]
        owedAcks = [:]
    }

    /// The acknowledgements that are due, one for each stream.
    mutating func takeAcks() -> [(key: SessionKey, device: Device, ack: Ack)] {
        let acks = owedAcks.flatMap { key, devices in
            devices.map { (key, $0, Ack.next(sessions[key]?.streams?[$0]?.next ?? 0)) }
        }
        owedAcks = [:]
        return acks
    }

    // MARK: States

    /// Takes over a session from the store, its streams not read yet.
    mutating func load(_ record: SessionRecord, now: Timestamp) {
        let key = record.state.key
        sessions[key] = LiveSession(record: record, streams: nil, heardAt: now)
        if record.needsSummary { requestSummary(key, now) }
    }

    /// Takes a session's state; an older one changes nothing.
    mutating func receive(_ state: SessionState, now: Timestamp) {
        let key = state.key
        if let known = sessions[key]?.state {
            guard state.revision > known.revision else { return }
            if state.segments != known.segments { stale.insert(key) }
            sessions[key]?.record.state = state
        } else {
            sessions[key] = LiveSession(record: SessionRecord(state: state), streams: [:], heardAt: now)
        }
        withNews.insert(key)
        unsaved.insert(key)
        guard sessions[key]?.isOver == true else { return }
        sessions[key]?.record.needsSummary = true
        requestSummary(key, now)
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
    mutating func sweep(now: Timestamp) {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval || now < $0 }) ?? true else { return }
        sweptAt = now
        for (key, session) in sessions {
            if session.becomesSilent(now) { withNews.insert(key) }
            if let until = session.record.seriesUntil, until <= now { withExpiredSeries.insert(key) }
            if session.isIdle(now), !awaitingSummary.contains(key), !unsaved.contains(key) { forget(key) }
        }
    }

    private mutating func forget(_ key: SessionKey) {
        sessions[key] = nil
        pending[key] = nil
        owedAcks[key] = nil
        unsaved.remove(key)
        withNews.remove(key)
        stale.remove(key)
        awaitingSummary.remove(key)
    }

    /// Takes over a session's streams from the store, or makes the fold anew after its segments changed.
    ///
    /// - Parameter samples: all items on disk, by device.
    mutating func fold(_ key: SessionKey, _ samples: [Device: [Sample]], streams: [Device: SampleStream]?) {
        guard var session = sessions[key] else { return }
        if let streams { session.streams = streams }
        stale.remove(key)
        session.live = LiveMetrics()
        let segments = session.state.segments
        for (device, sample) in inOrder(samples) { session.live.add(sample, from: device, segments: segments) }
        sessions[key] = session
        withNews.insert(key)
    }

    /// Items by time, those of one time by device, those of one device by number.
    private func inOrder(_ samples: [Device: [Sample]]) -> [(Device, Sample)] {
        if samples.count == 1, let (device, items) = samples.first { return items.map { (device, $0) } }
        var all: [(time: Timestamp, device: Device, number: Int, sample: Sample)] = []
        for (device, items) in samples {
            for (number, sample) in items.enumerated() {
                if let time = sample.time { all.append((time, device, number, sample)) }
            }
        }
        all.sort { ($0.time, $0.device, $0.number) < ($1.time, $1.device, $1.number) }
        return all.map { ($0.device, $0.sample) }
    }

    /// Forgets sessions that are another process's now.
    mutating func drop(where isLost: (SessionKey) -> Bool) {
        for key in sessions.keys.filter(isLost) { forget(key) }
    }
}
