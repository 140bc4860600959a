import Bus
import MQTT
import ServiceKit
import Timing
import Workouts

/// The limits of a session.
package struct StreamBounds: Sendable {
    /// Items of a session.
    package var session = StreamLimits.session
    /// Items that a session accepts in an hour.
    package var hour = StreamLimits.hour
    /// Above this number of items, folds and summaries of a session are jobs.
    package var manyItems = 10_000

    package init() {}

    var hourly: TokenBucket<Moment> { TokenBucket(burst: Double(hour), perSecond: Double(hour) / 3_600) }
}

/// A session in memory: state, streams, live metrics and deadlines.
///
/// An object, because each message looks it up and it is too large to copy. The machine that holds it is never copied.
final class OwnedSession<Work: StreamWork> {
    var record: StreamRecord<Work.Totals>
    /// The loaded streams by device.
    private(set) var streams: [DeviceStream<Work>] = []
    /// The devices of ``streams`` in the same order, searched for each message.
    private var devices: [Device] = []
    /// The numbers of items on disk and of pending ones, of all loaded streams.
    private(set) var count = 0
    private(set) var pendingItems = 0
    /// Whether the skew of a device's clock changed since the machine last asked.
    var hasNewSkew = false
    /// Whether the next commit includes the session.
    var isTouched = false
    /// Whether a deferred acknowledgement waits for its time.
    var awaitsAck = false
    /// Whether all stored streams are loaded.
    var hasAllStreams: Bool
    /// The live fold; `nil` until it is computed from the stored items.
    var live: Work.Live?
    /// Whether a live route has arrived.
    var hasLiveRoute = false
    /// The last live route, kept until a fold exists.
    var pendingCompanion: Work.Live.Companion?
    /// The times of the next and the last fold over all stored items, and the cost of the last job.
    var foldDue: Moment?
    var foldedAt: Moment?
    var foldCost = Duration.zero
    /// The number of the session's job.
    var job: Int?
    /// The items that were committed since a job began a fold.
    var sinceFold: [(device: Device, first: Int, items: [Work.Item])]?
    /// Whether a job found items unreadable, so that the loop must read them.
    var isCorrupt = false
    /// The splits and laps to announce.
    var news: StretchNews
    /// `metrics` or `route`.
    var liveTopic = RetainedTopic()
    /// `heard/samples` or `heard/locations`, the stored items that it reports (`nil` until they are read), and the time of
    /// the last message.
    var heardTopic = RetainedTopic()
    var heard: HeardItems<Work.Item>?
    var heardAt: Moment?
    /// The time of the last stored items since then.
    var unheardSince: Moment?
    var publishedAt: Moment?
    /// The time of the last stored or reported item, or of loading the session.
    var receivedAt: Moment
    /// Whether the live values were published as unknown since then.
    var isSilent = false
    /// The time of the next summary; `nil` if the summary is up to date.
    var summaryDue: Moment?
    /// The time of the last summary, and the cost of the last job.
    var summarizedAt: Moment?
    var summaryCost = Duration.zero
    /// The time of the last repetition of the chunks on request.
    var repeatedAt: Moment?
    /// `summary/metrics` or `summary/route`.
    var summaryTopic: RetainedTopic

    private let bounds: StreamBounds
    /// The items that the session accepts now.
    private var hourly: TokenBucket<Moment>

    /// A session from the store. Its items are read when necessary.
    init(stored record: StreamRecord<Work.Totals>, receivedAt: Moment, bounds: StreamBounds) {
        self.bounds = bounds
        hourly = bounds.hourly
        self.record = record
        summaryTopic = RetainedTopic(revision: record.report?.revision ?? 0)
        hasAllStreams = false
        // An earlier process announced the splits before this one started.
        news = StretchNews(splits: nil)
        self.receivedAt = receivedAt
    }

    /// A session without a stored record.
    init(new state: SessionState, receivedAt: Moment, bounds: StreamBounds) {
        self.bounds = bounds
        hourly = bounds.hourly
        record = StreamRecord(state: state)
        summaryTopic = RetainedTopic()
        hasAllStreams = true
        news = StretchNews(splits: 0)
        heard = HeardItems()
        live = Work.Live(ProfiledState(state))
        self.receivedAt = receivedAt
    }

    var state: SessionState { record.state }

    /// The state with the profile that it names.
    var profiled: ProfiledState { ProfiledState(state, record.profile) }

    /// Whether jobs fold and summarize the session.
    var isLarge: Bool { !isCorrupt && (record.isLarge == true || hasManyItems) }

    /// Whether the items of the loaded streams are many.
    var hasManyItems: Bool { max(count + pendingItems, record.route?.rows ?? 0) > bounds.manyItems }

    /// The seconds that must follow a job.
    func spacing(_ cost: Duration) -> Double { cost / .seconds(1) * StreamTimes.costs }

    /// The number of items on disk, by stream.
    var next: [StreamName: Int] {
        var next: [StreamName: Int] = [:]
        for named in streams where named.stream.next > 0 {
            next[StreamName(Work.kind, named.device)] = named.stream.next
        }
        return next
    }

    /// The seconds by which clocks of devices are ahead, as this service or the others found them.
    var skews: [Double] {
        (state.clockSkew ?? [:]).merging(record.clockSkew) { _, own in own }.values.sorted()
    }

    /// The route that a computation takes in: folds and chunks do without.
    func route(for purpose: StreamJob<Work>.Purpose) -> StoredRoute? {
        guard case .summary = purpose else { return nil }
        return record.route
    }

    /// Whether the profile that the state names has arrived, if the results take it in.
    var hasProfile: Bool { !Work.inputs.contains(.profile) || profiled.isComplete }

    /// Whether the first summary waits for a route: its locations are announced or were published live.
    var awaitsRoute: Bool {
        Work.inputs.contains(.summaryRoute) && record.route == nil && record.report?.route == nil
            && summarizedAt == nil
            && (hasLiveRoute || state.streams.contains { stream, count in stream.kind == .locations && count > 0 })
    }

    /// Whether a summary is published, with its chunks.
    var isOver: Bool {
        switch state.status {
        case .saving, .completed: true
        case .preparing, .active, .paused, .suspended, .canceled, .deleted: false
        }
    }

    /// Whether live metrics are published. An ended session still publishes them, because late items may arrive.
    var isShown: Bool {
        switch state.status {
        case .preparing, .active, .paused, .suspended, .saving, .completed, .canceled: true
        case .deleted: false
        }
    }

    var isUnfinished: Bool {
        switch state.status {
        case .preparing, .active, .paused, .suspended: true
        case .saving, .completed, .canceled, .deleted: false
        }
    }

    // MARK: Streams

    func index(of device: Device) -> Int? { devices.firstIndex(of: device) }

    /// Receives a batch. Returns `full` if the session has too many devices.
    func receive(_ batch: ItemBatch<Work.Item>, from device: Device, now: Moment) -> StreamOutcome {
        guard let index = index(of: device) ?? add(ItemStream(), from: device) else { return .full }
        // Before all streams are loaded, the last summary has the number of their items.
        let stored = hasAllStreams ? count : max(count, record.report?.next.values.reduce(0, +) ?? 0)
        let room = bounds.session - stored - pendingItems
        let new = batch.first + batch.items.count - streams[index].stream.expected
        let outcome =
            streams[index].stream.receive(batch, room: min(room, hourly.available(now)))
            ?? .limited(retryAfter: new > room ? nil : retryAfter(new, now))
        switch outcome {
        case .taken, .corrected:
            pendingItems += new
            _ = hourly.take(now, count: new)
            if streams[index].accepted(batch, now) {
                record.clockSkew[device] = streams[index].skew.seconds
                hasNewSkew = true
            }
        case .repeated: streams[index].owesAck = true
        case .gap: streams[index].owesAck = streams[index].stream.answersGap(now) || streams[index].owesAck
        case .limited(let retryAfter):
            guard streams[index].stream.answersGap(now) else { break }
            streams[index].owesAck = true
            streams[index].isLimited = true
            streams[index].retryAfter = retryAfter
        case .reused, .full, .dropped: break
        }
        return outcome
    }

    /// Whole seconds until the session accepts a useful number of items again.
    private func retryAfter(_ count: Int, _ now: Moment) -> Int {
        max(1, Int(hourly.seconds(until: max(count, bounds.hour / 10), now).rounded(.up)))
    }

    /// Adds a device's stream and returns its index.
    private func add(_ stream: ItemStream<Work.Item>, from device: Device) -> Int? {
        guard streams.count < SessionAction.streamLimit else { return nil }
        devices.append(device)
        streams.append(DeviceStream(stream, device: device, of: state.key, skew: record.clockSkew[device]))
        count += stream.next
        return streams.count - 1
    }

    /// Loads a stream from the store. A loaded stream stays unless fewer of its items are readable.
    func load(_ stream: ItemStream<Work.Item>, from device: Device) {
        if let index = index(of: device) {
            guard streams[index].stream.next > stream.next else { return }
            count -= streams[index].stream.next - stream.next
            pendingItems -= streams[index].stream.pending.count
            streams[index].stream = stream
        } else {
            _ = add(stream, from: device)
        }
    }

    /// Loads the streams that are not loaded yet. A loaded stream may have more items than a job has read.
    func loadMissing(_ streams: [Device: ItemStream<Work.Item>]) {
        for (device, stream) in streams.sorted(by: { $0.key < $1.key }) where index(of: device) == nil {
            _ = add(stream, from: device)
        }
        hasAllStreams = true
    }

    /// The chunks that make the pending items durable.
    func stage() -> [StoredChunk] {
        var chunks: [StoredChunk] = []
        for index in streams.indices where !streams[index].stream.pending.isEmpty {
            let prefix = streams[index].chunkPrefix
            for (number, bytes) in streams[index].stream.stage() {
                chunks.append(
                    StoredChunk(
                        shard: state.session.shard, key: StreamStore.chunkKey(prefix, number), bytes: bytes))
            }
        }
        return chunks
    }

    /// The pending items are on disk and count from now on.
    func committed(_ now: Moment) {
        for index in streams.indices where !streams[index].stream.pending.isEmpty {
            live?.add(
                streams[index].stream.pending, from: streams[index].device, segments: record.state.segments,
                now: now.wallClock)
            heard?.add(streams[index].stream.pending)
            sinceFold?.append((streams[index].device, streams[index].stream.next, streams[index].stream.pending))
            streams[index].stream.committed()
        }
        count += pendingItems
        pendingItems = 0
    }

    /// Drops the pending items and acknowledgements after a failed commit.
    func discardPending() {
        hourly.giveBack(pendingItems)
        for index in streams.indices { streams[index].discardPending() }
        pendingItems = 0
    }

    /// Makes all acknowledgements due.
    func acknowledgeAll() {
        for index in streams.indices { streams[index].owesAck = true }
    }

    /// When the deferred acknowledgements are due; `nil` without any.
    var ackDue: Moment? {
        streams.lazy.compactMap(\.unacknowledgedSince).min().map { $0 + StreamTimes.ack }
    }

    /// Makes the deferred acknowledgements due.
    func acknowledgeDeferred() {
        for index in streams.indices where streams[index].unacknowledgedSince != nil { streams[index].owesAck = true }
    }

    /// Removes and returns the due acknowledgements, one per stream.
    func takeAcks(_ now: Moment) -> [MQTTMessage] {
        var acks: [MQTTMessage] = []
        for index in streams.indices {
            guard let ack = streams[index].takeAck() else { continue }
            let kind = Work.kind.ack(streams[index].device)
            acks.append(
                MQTTMessage(
                    topic: streams[index].ackTopic, payload: ack.payload(now: now.wallClock)[...], qos: kind.qos,
                    retain: kind.isRetained))
        }
        return acks
    }

    // MARK: Due work

    /// Whether the live values have just become too old to display.
    func becomesSilent(_ now: Moment) -> Bool {
        isShown && !isSilent && now.seconds(since: receivedAt) >= StreamTimes.silence
    }

    /// Whether the session can leave memory.
    func isIdle(_ now: Moment) -> Bool {
        !isUnfinished && job == nil && now.seconds(since: receivedAt) >= StreamTimes.idle
    }
}
