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

    var sessions: [SessionKey: LiveSession] = [:]
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
        var stream = sessions[key]?.streams?[device] ?? SampleStream()
        // The session lets go of its copy, so that the stream's arrays are changed in place.
        sessions[key]?.streams?[device] = nil
        let outcome = stream.receive(batch)
        switch outcome {
        case .taken:
            pending[key, default: []].insert(device)
            owedAcks[key, default: []].insert(device)
        case .repeated: owedAcks[key, default: []].insert(device)
        case .gap:
            if stream.answeredGapAt.map({ now.seconds(since: $0) >= Self.gapInterval }) ?? true {
                stream.answeredGapAt = now
                owedAcks[key, default: []].insert(device)
            }
        case .reused, .full: break
        }
        if stream.next > 0 || !stream.pending.isEmpty { sessions[key]?.streams?[device] = stream }
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
            guard var session = sessions.removeValue(forKey: key) else { continue }
            for device in devices.sorted() {
                let segments = session.state.segments
                for sample in session.streams?[device]?.pending ?? [] {
                    session.live.add(sample, from: device, segments: segments)
                }
                session.streams?[device]?.committed()
            }
            session.hasNews = true
            session.heardAt = now
            session.isSilent = false
            if session.isOver { session.requestSummary(now) }
            sessions[key] = session
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
        var session = LiveSession(record: record)
        if record.needsSummary { session.requestSummary(now) }
        sessions[record.state.key] = session
    }

    /// Takes a session's state; an older one changes nothing.
    mutating func receive(_ state: SessionState, now: Timestamp) {
        var session =
            sessions.removeValue(forKey: state.key) ?? LiveSession(record: SessionRecord(state: state), streams: [:])
        defer { sessions[state.key] = session }
        let isNew = session.streams?.isEmpty == true && session.record.report == nil
        guard isNew || state.revision > session.state.revision else { return }
        if state.segments != session.state.segments { session.isStale = true }
        session.record.state = state
        session.hasNews = true
        if session.isOver {
            session.record.needsSummary = true
            session.requestSummary(now)
        }
        unsaved.insert(state.key)
    }

    /// Takes over a session's streams from the store, or makes the fold anew after its segments changed.
    ///
    /// - Parameter samples: all items on disk, by device.
    mutating func fold(_ key: SessionKey, _ samples: [Device: [Sample]], streams: [Device: SampleStream]?) {
        guard var session = sessions[key] else { return }
        if let streams { session.streams = streams }
        session.isStale = false
        session.live = LiveMetrics()
        let segments = session.state.segments
        for (device, sample) in inOrder(samples) { session.live.add(sample, from: device, segments: segments) }
        session.hasNews = true
        sessions[key] = session
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

    /// Forgets sessions: they are another process's now, or have been idle and stand in the store.
    mutating func drop(where isLost: (SessionKey) -> Bool) {
        for key in sessions.keys.filter(isLost) {
            sessions[key] = nil
            pending[key] = nil
            owedAcks[key] = nil
            unsaved.remove(key)
        }
    }
}

extension LiveSession {
    /// Asks for a summary: at once, or when the last one is old enough.
    mutating func requestSummary(_ now: Timestamp) {
        guard summaryDue == nil else { return }
        let isLong = count > AggregatorMachine.manyItems
        let interval = isLong ? AggregatorMachine.longSummaryInterval : AggregatorMachine.summaryInterval
        summaryDue = max(now, summarizedAt.map { $0 + interval } ?? now)
    }
}
