import Bus
import Logging
import MQTT
package import ServiceKit
package import Storage
import Timing
import Workouts

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
    /// Sessions without a stored record.
    var unknown: Set<SessionKey> = []
    /// Sessions with an unreadable record.
    var corrupt: Set<SessionKey> = []
    var retention = Retention()
    var revisions = LiveRevisions()
    private(set) var pace = LivePace()
    /// The time of the last commit of items.
    var committedAt: Moment?
    /// Jobs to run, and the chunks of those that ended.
    var jobs: [StreamJob<Work>] = []
    var chunkSendings: [ChunkSending<Work>] = []
    private var topics: [String: Topic] = [:]

    /// Adds the check `store` to the context's readiness.
    package init(context: ServiceContext, store: any Store, bounds: StreamBounds = StreamBounds()) {
        machine = StreamMachine(bounds)
        self.context = context
        self.store = store
        writer = ShardWriter(context: context, store: store)
        metrics = StreamMetrics(context.metrics, prefix: Work.metricsPrefix)
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
            try await commit(now) { batch.finish() }
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
                guard case .session(_, let kind)? = topic(message.topic), Work.kind.device(of: kind) != nil else {
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

    // MARK: Messages

    private mutating func receiveMessages(_ received: [MQTTMessage], _ now: Moment) async throws {
        let runs = runs(received)
        try await load(runs.filter { $0.messages.contains { !$0.payload.isEmpty } }.compactMap { $0.topic }, now)
        try await replaceCorruptRecords(runs, now)
        for run in runs {
            switch run.topic {
            case .user(let user, .viewerRequest(let viewer))?:
                for message in run.messages { try await receiveViewerRequest(message, of: user, from: viewer, now) }
            case .session(let key, let kind)? where writer.owns(key.session.shard):
                receiveRun(run.messages, key, kind, now)
            case nil:
                for message in run.messages {
                    let rejection = Rejection(badTopic: message.topic, owns: writer.owns)
                    if let rejection { reject(message, rejection, now) }
                }
            default: break
            }
        }
    }

    /// Messages of one topic share its string, so most comparisons are of pointers.
    private mutating func runs(_ messages: [MQTTMessage]) -> [TopicRun] {
        var runs: [TopicRun] = []
        var start = 0
        for end in 1..<messages.count + 1 where end == messages.count || messages[end].topic != messages[start].topic {
            runs.append(TopicRun(topic: topic(messages[start].topic), messages: messages[start..<end]))
            start = end
        }
        return runs
    }

    private mutating func receiveRun(
        _ messages: ArraySlice<MQTTMessage>, _ key: SessionKey, _ kind: SessionTopic, _ now: Moment
    ) {
        let device = Work.kind.device(of: kind)
        // Items change no session but their own, and that only within.
        let session = device == nil ? nil : machine.sessions[key]
        for message in messages {
            do throws(PayloadError) {
                if let device {
                    try acceptBatch(message, from: device, of: key, session, now)
                } else {
                    try receiveMessage(message, key, kind, now)
                }
            } catch {
                reject(message, error, now)
            }
        }
    }

    private mutating func receiveMessage(
        _ message: MQTTMessage, _ key: SessionKey, _ kind: SessionTopic, _ now: Moment
    ) throws(PayloadError) {
        switch kind {
        case .state where !message.payload.isEmpty:
            let state = try SessionState(message.payload)
            guard state.key == key else { throw .malformed("user or session is not the topic's") }
            machine.receiveState(state, now: now)
            if state.isPast == true { retention.receivePast(key, now) }
            unknown.remove(key)
            for waiting in pendingBuffer.take(key, now: now) {
                guard case .session(_, let kind)? = topic(waiting.topic) else { continue }
                receiveRun([waiting], key, kind, now)
            }
        case _ where kind == Work.kind.summary && !message.payload.isEmpty:
            let seen = try JSONCoding.decode(SeenRevision.self, from: message.payload)
            guard let session = machine.sessions[key] else { break }
            if !retention.stands(key) {
                // The broker restored a cleared topic.
                send(StreamMachine<Work>.cleared(key), of: key)
            } else if machine.seeSummary(seen.revision, of: session, now: now),
                let summary = machine.knownSummary(session)
            {
                send([summary], of: key)
            }
        case .request:
            let action = try JSONCoding.decode(SessionRequest.self, from: message.payload).action
            guard action == .chunks || action == .track && Work.kind == .locations else { break }
            machine.requestChunks(key)
        case _ where message.payload.isEmpty: break
        case .track(let number): try machine.receiveTrackChunk(message.payload, number, of: key, now: now)
        case .route: machine.receiveLiveRoute(try Work.Live.read(message.payload), of: key, now: now)
        case .profile, .summaryRoute:
            guard machine.sessions[key] != nil else {
                pendingBuffer.add(message, for: key, of: key.user, now: now)
                break
            }
            if kind == .profile {
                machine.receiveProfile(try SessionProfile(message.payload), of: key, now: now)
            } else {
                machine.receiveRouteReport(
                    try JSONCoding.decode(RouteReport.self, from: message.payload), of: key, now: now)
            }
        default: break
        }
    }

    private mutating func acceptBatch(
        _ message: MQTTMessage, from device: Device, of key: SessionKey, _ session: OwnedSession<Work>?, _ now: Moment
    ) throws(PayloadError) {
        let batch = try ItemBatch<Work.Item>(message.payload, accepting: AcceptedTimes(now: now.wallClock))
        guard let session else {
            let overflowed = pendingBuffer.overflowed
            let isAllowed = pendingBuffer.add(message, for: key, of: key.user, now: now)
            if !isAllowed { context.limits.reached("waiting_for_state", by: key.user, at: now) }
            if pendingBuffer.overflowed > overflowed {
                let text = "too many items of sessions without a state are pending; send the session's start first"
                reject(message, Rejection(topic: message.topic, reason: "waiting_for_state", message: text), now)
            }
            return
        }
        let outcome = machine.acceptBatch(batch, from: device, of: session, now: now)
        switch outcome {
        case .taken, .corrected:
            if let flaw = batch.flaw { reject(message, flaw, now) }
            if case .corrected(let error) = outcome { reject(message, error, now) }
        case .repeated, .gap: break
        case .full: throw .tooLarge("more than \(SessionAction.streamLimit) devices")
        case .limited(let limit):
            // The next commit acknowledges what is stored, with the error.
            context.limits.reached(limit.name, by: key.user, at: now, count: batch.items.count)
        case .reused: send(.streamReused, to: device, of: key, now)
        case .dropped: send(.next(batch.first + batch.items.count), to: device, of: key, now)
        }
    }

    private mutating func send(_ ack: Ack, to device: Device, of key: SessionKey, _ now: Moment) {
        let payload = ack.payload(now: now.wallClock, epoch: writer.epochs[key.session.shard]?.number)
        send([Topic.session(key, Work.kind.ack(device)).message(payload)], of: key)
    }

    private mutating func reject(_ message: MQTTMessage, _ error: PayloadError, _ now: Moment) {
        reject(message, Rejection(topic: message.topic, error: error), now)
    }

    private mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, _ now: Moment) {
        metrics.rejected(rejection.reason)
        writer.reject(message, rejection, at: now)
    }

    /// The topic of a name, from a cache: the same names recur.
    private mutating func topic(_ name: String) -> Topic? {
        if let known = topics[name] { return known }
        guard let topic = Topic(name) else { return nil }
        if topics.count >= StreamTimes.topicLimit { topics = [:] }
        topics[name] = topic
        return topic
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

/// Consecutive messages of one topic, as a device that catches up sends them.
struct TopicRun {
    let topic: Topic?
    let messages: ArraySlice<MQTTMessage>
}
