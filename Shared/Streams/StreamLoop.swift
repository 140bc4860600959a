import Bus
import Logging
import MQTT
package import ServiceKit
import ServiceLifecycle
package import Storage
import Timing
import Workouts

/// Runs the machine on items, states and time. Each effect goes to disk first, then to the bus.
package struct StreamService<Work: StreamWork>: Service {
    private let context: ServiceContext
    private let store: any Store
    private let bounds: StreamBounds

    package init(context: ServiceContext, store: any Store, bounds: StreamBounds = StreamBounds()) {
        self.context = context
        self.store = store
        self.bounds = bounds
    }

    package func run() async throws {
        var loop = StreamLoop<Work>(context: context, store: store, bounds: bounds)
        let ends = Inbox<StreamJob<Work>.End>()
        try await context.serve(store: store, subscriptions: Self.subscriptions) { event in
            try await loop.handle(event, ends: ends.take())
            for job in loop.takeJobs() {
                // Not a child task: a shutdown waits for no computation, and its result is void.
                Task { [store] in ends.add(await job.run(store)) }
            }
        }
        await context.close(store)
    }

    private static func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        // States first, so that they arrive before the items of their sessions.
        filters.flatMap { TopicFilter.sessions($0, shards: shards) }
            + (shards.isEmpty ? [] : [TopicFilter.viewerRequests])
    }

    private static var filters: [SessionTopic.Kind] {
        let own: [SessionTopic.Kind] =
            switch Work.kind {
            case .samples: [.state, .samples, .summaryMetrics, .request]
            case .locations: [.state, .locations, .summaryRoute, .request]
            }
        return own + Work.inputs
    }
}

/// The service's only flow of events, and the only place for effects.
package struct StreamLoop<Work: StreamWork> {
    let context: ServiceContext
    let store: any Store
    let metrics: StreamMetrics
    var writer: ShardWriter
    var machine: StreamMachine<Work>
    /// Batches of unknown sessions, without an acknowledgement, until the sessions' `state` comes.
    var pendingBuffer = PendingBuffer<SessionKey>(
        byteLimit: StreamTimes.pendingBytes, userLimit: StreamTimes.pendingBytesOfUser, timeout: StreamTimes.pending)
    /// The rates of viewers' requests.
    var viewerRates = RateTable<User, Moment>(burst: StreamTimes.viewerBurst, perSecond: StreamTimes.viewerRate)
    var topics = KnownTopics()
    var missingRecords = MissingRecords()
    var retention = Retention()
    var revisions = LiveRevisions()
    private(set) var pace = LivePace()
    /// The time of the last commit of items.
    private(set) var committedAt: Moment?
    /// Jobs to run, and the chunks of those that ended.
    var jobs: [StreamJob<Work>] = []
    var chunkSendings: [ChunkSending<Work>] = []

    /// Adds the check `store` to the context's readiness.
    package init(context: ServiceContext, store: any Store, bounds: StreamBounds = StreamBounds()) {
        machine = StreamMachine(bounds)
        self.context = context
        self.store = store
        writer = ShardWriter(context: context, store: store)
        metrics = StreamMetrics(context.metrics, prefix: Work.metricsPrefix)
        context.limits.begin(ItemLimit.allCases.map(\.name) + ["waiting_for_state", "viewer_requests"])
    }

    /// - Parameter ends: the ends of jobs since the last event.
    package mutating func handle(_ event: ServiceEvent, ends: [StreamJob<Work>.End] = []) async throws {
        let now = context.clock.moment
        defer { pace.handled(from: now, to: context.clock.moment) }
        // Jobs of lost sessions have no effect.
        if case .ownership(.lost(let shards)) = event { drop(shards) }
        for end in ends { await receiveJobEnd(end, now) }
        switch event {
        case .ownership(.gained(let gained)):
            writer.gain(gained)
            try await moveJournal(of: Set(gained.keys), now)
            try await loadCeilings(Set(gained.keys))
            try await loadRetention(Set(gained.keys), now)
            let usage = try await store.records(in: DailyQuota.collection, shards: Set(gained.keys))
            machine.quota.load(usage, now)
        case .ownership(.releasing(let shards)):
            try await clearJournal(of: shards, now)
            drop(shards)
        case .ownership(.lost), .disconnected: break
        case .announce(let shards): try await announce(shards, now)
        case .connected:
            for key in machine.sessions.keys { announce(key, now) }
        case .batch(let batch):
            let begun = ContinuousClock.now
            try await receiveMessages(batch.messages, now)
            try await commitItems(now) { batch.finish() }
            await flush()
            metrics.batch(messages: batch.messages.count, took: ContinuousClock.now - begun)
        case .tick:
            for (key, acks) in machine.takeDeferredAcks(now: now, writer.epochs) { send(acks, of: key) }
            try await purge(now)
            try await clearJournal(now)
            if machine.sweep(now: now) {
                metrics.show(machine.statusCounts, pendingBuffer)
                metrics.showLead(revisions.lead(at: now.wallClock))
                metrics.journal(machine.journal.bytes, machine.journal.oldest.map { now.seconds(since: $0) })
            }
            try await shareQuota(now)
            try await refold(now)
            try await publishLive(now)
            publishSplits(now)
            try await publishSummaries(now)
            requestTracks(now)
            sendChunks()
            startJobs(now)
            try await clearRetained(now)
            for message in pendingBuffer.expire(now: now) {
                // Services' retained messages of an old session are no error.
                guard case .session(_, let kind)? = topics.topic(message.topic), Work.kind.device(of: kind) != nil
                else {
                    continue
                }
                let text = "no state of the session came within \(Int(StreamTimes.pending)) s; send its start"
                reject(message, Rejection(topic: message.topic, reason: "session_unknown", message: text), now)
            }
        }
        await flush()
    }

    /// Publishes the retained topics of shards gained on a live connection: their former owner may have committed and not
    /// published them. Devices receive their acknowledgements with the first live fold.
    private mutating func announce(_ shards: Set<Shard>, _ now: Moment) async throws {
        for key in machine.sessions.keys where shards.contains(key.session.shard) { announce(key, now) }
        let missing = retention.keys(in: shards).filter { machine.sessions[$0] == nil }
        try await loadRecords(missing, announcing: missing, now)
    }

    /// Publishes the retained topics of a session again: the broker may have lost them.
    mutating func announce(_ key: SessionKey, _ now: Moment) {
        guard let session = machine.sessions[key] else { return }
        guard session.state.status != .deleted else {
            // The broker may have restored a cleared topic.
            send(StreamMachine<Work>.cleared(key), of: key)
            return
        }
        session.summaryTopic.reconnected()
        machine.news.add(session)
        if session.isUnfinished || session.state.status == .canceled { machine.schedule.add(.heard, to: session) }
        if retention.stands(key), let summary = machine.knownSummary(session) { send([summary], of: key) }
    }

    // MARK: Ownership

    /// Drops shards that are to be released, or that another process owns.
    mutating func drop(_ shards: Set<Shard>) {
        writer.drop(shards)
        forget(shards)
    }

    /// Removes all state of shards that the writer has dropped.
    mutating func forget(_ shards: Set<Shard>) {
        guard !shards.isEmpty else { return }
        revisions.drop(shards)
        machine.drop { shards.contains($0.session.shard) }
        machine.quota.drop(shards)
        retention.drop(shards)
        pendingBuffer.drop { shards.contains($0.session.shard) }
        missingRecords.drop(shards)
    }

    // MARK: Commits

    /// The outcome of a commit for one session.
    enum Outcome {
        case committed
        /// Another process owns the session's shard: publish nothing of the session.
        case lost
        case refused
    }

    /// Makes received items and states durable, then acknowledges them. After a failed write nothing counts and nothing is
    /// acknowledged to devices, which send it again.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of due streams that move from the journal into chunks.
    ///   - trim: what leaves the journal instead of the records whose items are in chunks.
    mutating func commitItems(
        _ now: Moment, limit: Int? = nil, trim: JournalTrim? = nil, mayUseReserve: Bool = false,
        finish: () -> Void = {}
    ) async throws {
        committedAt = now
        let removable = trim == nil ? machine.journal.removable() : nil
        let trim = removable.map { .own(through: $0) } ?? trim
        var writes = machine.stage(due: limit ?? machine.journal.limit(now), now: now).compactMap { change in
            writer.write(change.shard, change.collection, change.change)
        }
        writes += machine.stageRoutes().compactMap { writer.write($0, StreamStore.tracks, $1) }
        let unsaved = machine.schedule.sessions(with: .record)
        writes += unsaved.compactMap { put($0.nextRecord, of: $0.state.key) }
        // From its first record on, the next owner finds an unfinished session among those it announces.
        let begun = unsaved.filter { $0.isUnfinished && !retention.stands($0.state.key) }.map(\.state.key)
        for key in begun { retention.published(key, now) }
        writes += begun.compactMap { put($0.session.shard, StreamStore.retained, "\($0)", retention.value($0)) }
        let usage = machine.quota.changes
        writes += usage.compactMap { writer.write($0.key.shard, DailyQuota.collection, $0.value) }
        let items = machine.countPending()
        guard let report = await commit(writes, items: items, trim: trim, mayUseReserve: mayUseReserve) else {
            machine.discardPending(now)
            return finish()
        }
        // At once, so that the next batch is read while the live metrics are computed.
        finish()
        retention.stored(begun)
        machine.quota.stored(usage)
        if removable != nil { machine.journal.removed() }
        let journaled = report.journaled.map {
            (sequence: $0.sequence, bytes: writes.reduce(0) { $0 + $1.journaledBytes })
        }
        machine.committed(now: now, journaled: journaled)
        for (key, acks) in machine.takeAcks(now: now, writer.epochs) { send(acks, of: key) }
    }

    /// Commits writes of one session.
    mutating func commit(_ writes: [StoreWrite?], of key: SessionKey, mayUseReserve: Bool = false) async -> Outcome {
        guard await commit(writes.compactMap(\.self), mayUseReserve: mayUseReserve) != nil else { return .refused }
        return writer.owns(key.session.shard) ? .committed : .lost
    }

    /// Commits and drops the shards that were lost. Returns `nil` if the store refused the writes.
    mutating func commit(
        _ writes: [StoreWrite], items: Int = 0, trim: JournalTrim? = nil, mayUseReserve: Bool = false
    ) async -> CommitReport? {
        guard !writes.isEmpty || trim != nil else { return CommitReport() }
        let now = context.clock.moment
        switch await writer.commit(writes, trim: trim, mayUseReserve: mayUseReserve) {
        case .committed(let report, let took):
            metrics.commit(items: items, took: took)
            forget(report.lostShards)
            revisions.committed(Set(writes.map(\.shard)).subtracting(report.lostShards), now)
            return report
        // Devices send again what is not acknowledged.
        case .refused: return nil
        }
    }

    func put(_ record: StreamRecord<Work.Totals>, of key: SessionKey) -> StoreWrite? {
        put(key.session.shard, StreamStore.sessions, "\(key)", JSONCoding.encode(record))
    }

    func put(_ shard: Shard, _ collection: StoreCollection, _ key: String, _ value: [UInt8]) -> StoreWrite? {
        writer.write(shard, collection, .put(key: key, value: value))
    }

    // MARK: Sending

    /// Sends messages about a session at the end of the event, if this process owns its shard until then.
    mutating func send(_ messages: [MQTTMessage], of key: SessionKey) {
        for message in messages { writer.send(message, of: key.session.shard) }
    }

    private mutating func flush() async {
        guard writer.hasMessages else { return }
        forget(writer.dropLost())
        await writer.flush()
    }
}

extension StoreWrite {
    /// The size of what the write appends to the journal.
    fileprivate var journaledBytes: Int {
        guard case .append(let stream, _, let items) = change else { return 0 }
        return stream.utf8.count + items.count
    }
}
