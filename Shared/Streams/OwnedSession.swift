import Bus
import MQTT
import ServiceKit
import Storage
import Timing
import Workouts

/// A session in memory: state, streams, live metrics and deadlines.
///
/// An object, because each message looks it up and it is too large to copy. The machine that holds it is never copied.
final class OwnedSession<Work: StreamWork> {
    var record: StreamRecord<Work.Totals>
    /// The loaded streams, one of each device.
    private(set) var streams: [ItemStream<Work.Item>] = []
    /// The numbers of items on disk and of pending ones, of all loaded streams.
    private(set) var count = 0
    var pendingItems = 0
    /// What it waits for, and the queues of ``StreamSchedule`` that list it.
    var tasks = StreamTasks()
    var listed = StreamTasks()
    var ackAt: Moment
    /// Whether all stored streams are loaded.
    var hasAllStreams: Bool
    /// The live fold; `nil` until it is computed from the stored items.
    var live: Work.Live?
    /// When the live fold is computed from all items.
    var fold: Recomputation
    /// Whether a live route has arrived.
    var hasLiveRoute = false
    /// The route that it takes in, until it is complete on disk.
    var intake: RouteIntake?
    /// The last live route, kept until a fold exists.
    var pendingCompanion: Work.Live.Companion?
    var job: RunningJob<Work.Item>?
    /// Whether a job found items unreadable, so that the loop must read them.
    var isCorrupt = false
    /// The splits and laps to announce.
    var news: StretchNews
    /// `metrics` or `route`.
    var liveTopic = RetainedTopic()
    private(set) lazy var liveTopicName = Topic.session(state.key, Work.kind.live).name
    /// Its place in the machine's ``LiveNews``.
    var turn = LiveNews<Work>.Turn.idle
    /// `heard/samples` or `heard/locations`.
    var heard = HeardReport<Work.Item>()
    /// The time of the last stored or reported item, or of loading the session.
    var receivedAt: Moment
    /// Whether the live values were published as unknown since then.
    var isSilent = false
    /// When the summary is computed.
    var summary: Recomputation
    /// The time of the last repetition of the chunks on request.
    var repeatedAt: Moment?
    /// `summary/metrics` or `summary/route`.
    var summaryTopic: RetainedTopic

    let bounds: StreamBounds
    /// The items that the session accepts now.
    var hourly: TokenBucket<Moment>

    /// A session from the store. Its items are read when necessary.
    ///
    /// - Parameter splits: the number of splits that need no announcement; `nil` for those that an earlier process may have
    ///   announced.
    init(stored record: StreamRecord<Work.Totals>, splits: Int? = nil, receivedAt: Moment, bounds: StreamBounds) {
        self.bounds = bounds
        hourly = bounds.hourly
        self.record = record
        summaryTopic = RetainedTopic(revision: record.report?.revision ?? 0)
        hasAllStreams = false
        news = StretchNews(splits: splits)
        self.receivedAt = receivedAt
        ackAt = receivedAt
        fold = Recomputation(dueAt: receivedAt)
        summary = Recomputation(dueAt: receivedAt)
    }

    /// A session without a stored record.
    convenience init(new state: SessionState, receivedAt: Moment, bounds: StreamBounds) {
        self.init(stored: StreamRecord(state: state), splits: 0, receivedAt: receivedAt, bounds: bounds)
        hasAllStreams = true
        heard.items = HeardItems()
        live = Work.Live(ProfiledState(state))
    }

    var state: SessionState { record.state }

    /// The state with the profile that it names.
    var profiled: ProfiledState { ProfiledState(state, record.profile) }

    /// Whether jobs fold and summarize the session.
    var isLarge: Bool { !isCorrupt && (record.isLarge == true || hasManyItems) }

    /// Whether the items of the loaded streams are many.
    var hasManyItems: Bool { max(count + pendingItems, record.route?.rows ?? 0) > bounds.manyItems }

    /// The number of items on disk, by stream.
    var next: [StreamName: Int] {
        var next: [StreamName: Int] = [:]
        for stream in streams where stream.next > 0 { next[StreamName(Work.kind, stream.device)] = stream.next }
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
            && summary.doneAt == nil
            && (hasLiveRoute || state.streams.contains { stream, count in stream.kind == .locations && count > 0 })
    }

    /// Whether live metrics are published. An ended session still publishes them, because late items may arrive.
    var isShown: Bool { state.status != .deleted }

    /// Whether a summary is published, with its chunks.
    var isEnded: Bool { state.status.isEnded }

    var isUnfinished: Bool { state.status.isUnfinished }

    /// Whether its chunks can be requested: those of the last summary, or in progress those of the items until now.
    var hasChunks: Bool { isUnfinished || record.report != nil }

    /// Whether an item of a watch or a heart rate is among the stored items.
    var hasLiveMetrics: Bool {
        heard.items?.hasHeartRate == true || streams.contains { $0.next > 0 && $0.device.isWatch }
    }

    /// Whether stored items make a `heard` due.
    ///
    /// In progress, a session expires after hours and needs few. Later, its end follows its last item.
    func owesHeard(_ now: Moment) -> Bool { !isUnfinished || heard.isOutdated(now, hasLiveMetrics: hasLiveMetrics) }

    /// Whether the live values have just become too old to display.
    func becomesSilent(_ now: Moment) -> Bool {
        isShown && !isSilent && now.seconds(since: receivedAt) >= StreamTimes.silence
    }

    /// Whether the session can leave memory.
    func isIdle(_ now: Moment) -> Bool {
        !isUnfinished && job == nil && !hasUnsavedItems && now.seconds(since: receivedAt) >= StreamTimes.idle
            && intake?.isActive(now) != true && ![.summary, .record, .purge].contains(where: tasks.contains)
    }
}

/// Its streams: items on disk, items of the next commit, and acknowledgements.
extension OwnedSession {
    func stream(of device: Device) -> ItemStream<Work.Item>? { streams.first { $0.device == device } }

    /// The number of items that it still accepts.
    var room: Int {
        // Before all streams are loaded, the last summary has the number of their items.
        let stored = hasAllStreams ? count : max(count, record.report?.next.values.reduce(0, +) ?? 0)
        return bounds.session - stored - pendingItems
    }

    /// Whole seconds until it accepts a useful number of items again; `nil` if it is full.
    func retryAfter(_ count: Int, _ limit: ItemLimit, _ now: Moment) -> Int? {
        switch limit {
        case .session: nil
        case .hour: max(1, Int(hourly.seconds(until: max(count, bounds.hour / 10), now).rounded(.up)))
        case .day: DailyQuota.secondsLeft(now)
        }
    }

    /// Adds a device's stream, empty or from the store; `nil` if the session has too many devices.
    func add(
        _ stored: StoredStream<Work.Item> = StoredStream(), from device: Device
    ) -> ItemStream<Work.Item>? {
        guard streams.count < SessionAction.streamLimit else { return nil }
        let added = ItemStream(stored, of: state.key, Work.kind, from: device, skew: record.clockSkew[device])
        streams.append(added)
        count += stored.next
        return added
    }

    /// Loads a stream from the store. A loaded stream stays unless fewer of its items are readable.
    func load(_ stored: StoredStream<Work.Item>, from device: Device) {
        guard let stream = stream(of: device) else {
            _ = add(stored, from: device)
            return
        }
        guard stream.next > stored.next else { return }
        count -= stream.next - stored.next
        pendingItems -= stream.pending.count
        stream.restart(from: stored)
    }

    /// Loads the streams that are not loaded yet. A loaded stream may have more items than a job has read.
    func loadMissing(_ stored: [Device: StoredStream<Work.Item>]) {
        for (device, stream) in stored.sorted(by: { $0.key < $1.key }) where self.stream(of: device) == nil {
            _ = add(stream, from: device)
        }
        hasAllStreams = true
    }

    /// The changes that make the pending items durable and move due streams from the journal into their chunks.
    ///
    /// - Parameter saves: whether all streams move.
    func stage(saves: Bool) -> [StreamChange] {
        let shard = state.session.shard
        var changes: [StreamChange] = []
        for stream in streams {
            stream.isDue = stream.isDue || saves
            guard !stream.pending.isEmpty || stream.isDue else { continue }
            let staged = stream.stage(saves: stream.isDue)
            for (number, bytes) in staged.chunks {
                let change = StoreWrite.Change.put(key: StreamStore.chunkKey(stream.name, number), value: bytes)
                changes.append(StreamChange(shard: shard, collection: StreamStore.chunks, change: change))
            }
            guard let entry = staged.entry else { continue }
            let change = StoreWrite.Change.append(stream: stream.name, first: entry.first, items: entry.bytes)
            changes.append(StreamChange(shard: shard, collection: .journal, change: change))
        }
        return changes
    }

    /// Whether the journal has items that are in no chunk.
    var hasUnsavedItems: Bool { streams.contains { $0.saved < $0.next } }

    /// The last chunks that have such items.
    var unsavedChunks: [UnsavedChunk] {
        streams.compactMap { stream in
            stream.unsaved.map { UnsavedChunk(device: stream.device, number: $0.number, bytes: $0.bytes) }
        }
    }

    /// The pending items are on disk and count from now on.
    func committed(_ now: Moment) {
        for stream in streams where !stream.pending.isEmpty || stream.isDue {
            stream.isDue = false
            let pending = stream.pending
            defer { stream.committed() }
            guard !pending.isEmpty else { continue }
            live?.addItems(pending, from: stream.device, segments: record.state.segments, now: now.wallClock)
            heard.items?.addItems(pending)
            job?.missed?.append((stream.device, stream.next, pending))
        }
        count += pendingItems
        pendingItems = 0
    }

    /// The pending items that count against the account's day: those of files count as bytes.
    var dailyItems: Int { streams.reduce(0) { $0 + ($1.device == .importer ? 0 : $1.pending.count) } }

    /// Drops the pending items and acknowledgements after a failed commit.
    func discardPending() {
        hourly.giveBack(pendingItems)
        for stream in streams { stream.discardPending() }
        pendingItems = 0
    }

    /// Makes all acknowledgements due.
    func acknowledgeAll() {
        for stream in streams { stream.acknowledge() }
    }

    /// When the deferred acknowledgements are due; `nil` without any.
    var ackDue: Moment? {
        // A loop, because a key path of a generic type is resolved at each use.
        var first: Moment?
        for stream in streams { if let since = stream.unacknowledgedSince { first = min(first ?? since, since) } }
        return first.map { $0 + StreamTimes.ack }
    }

    /// Makes the deferred acknowledgements due.
    func acknowledgeDeferred() {
        for stream in streams where stream.unacknowledgedSince != nil { stream.acknowledge() }
    }

    /// Removes and returns the due acknowledgements of all streams.
    func takeAcks(_ now: Moment, _ epochs: [Shard: Epoch]) -> [MQTTMessage] {
        let epoch = epochs[state.key.session.shard]?.number
        var acks: [MQTTMessage] = []
        for stream in streams {
            guard let (ack, copies) = stream.takeAck() else { continue }
            let kind = Work.kind.ack(stream.device)
            let message = MQTTMessage(
                topic: stream.ackTopic, payload: ack.payload(now: now.wallClock, epoch: epoch)[...],
                qos: kind.qos, retain: kind.isRetained)
            acks += repeatElement(message, count: copies)
        }
        return acks
    }
}
