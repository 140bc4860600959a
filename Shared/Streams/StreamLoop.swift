import Bus
import Logging
import MQTT
import OrderedCollections
package import ServiceKit
package import Storage
import Workouts

/// The service's one flow of events and the only place where effects happen.
package struct StreamLoop<Work: StreamWork> {
    let context: ServiceContext
    let store: any Store
    let metrics: StreamMetrics
    /// Whether the disk took the last commit.
    let health: StoreHealth
    var machine = StreamMachine<Work>()
    var epochs: [Shard: Epoch] = [:]
    var waitingRoom = WaitingRoom()
    var rejections = Rejections(service: Work.service)
    /// What goes out after the next commit.
    var messages: [MQTTMessage] = []
    /// Sessions whose chunks somebody asked for.
    var requestedChunks: OrderedSet<SessionKey> = []
    /// Sessions that nothing is stored of, so that the store need not be asked again.
    var unknown: Set<SessionKey> = []
    /// Sessions whose record could not be read.
    var corrupt: Set<SessionKey> = []
    var retention = Retention()
    /// The revisions that the `metrics` of each shard do not exceed.
    var ceilings: [Shard: Int64] = [:]
    /// The ceilings of an earlier process: the first revisions of this one are at least these.
    var floors: [Shard: Int64] = [:]
    private var topics: [String: Topic] = [:]

    package init(context: ServiceContext, store: any Store, health: StoreHealth = StoreHealth()) {
        self.context = context
        self.store = store
        self.health = health
        metrics = StreamMetrics(context.metrics, prefix: Work.metricsPrefix)
    }

    package mutating func handle(_ event: ServiceEvent) async throws {
        let now = context.clock.now
        switch event {
        case .ownership(.gained(let gained)):
            epochs.merge(gained) { $1 }
            try await loadCeilings(Set(gained.keys))
            try await loadRetention(Set(gained.keys))
        case .ownership(.releasing(let shards)), .ownership(.lost(let shards)): lose(shards)
        case .announce(let shards):
            for key in machine.sessions.keys where shards.contains(key.session.shard) { announce(key, now) }
        case .connected:
            for key in machine.sessions.keys { announce(key, now) }
        case .disconnected: break
        case .batch(let batch):
            let begun = ContinuousClock.now
            try await receive(batch.messages, now)
            try await commit(now) { batch.acknowledge() }
            await flush()
            metrics.batch(messages: batch.messages.count, took: ContinuousClock.now - begun)
        case .tick:
            try await purge()
            if machine.sweep(now: now) { metrics.show(machine.statusCounts, waitingRoom) }
            try await refold(now)
            try await publishLive(now)
            publishSplits(now)
            try await publishSummaries(now)
            try await clearRetained(now)
            waitingRoom.expire(now: now)
        }
        await flush()
    }

    /// Publishes again what stands retained of a session, for the broker may have forgotten it, or never have had it whole.
    mutating func announce(_ key: SessionKey, _ now: Timestamp) {
        guard let session = machine.sessions[key] else { return }
        guard session.state.status != .deleted else {
            // Something may have brought back what was cleared.
            messages += StreamMachine<Work>.cleared(key)
            messages += StreamMachine<Work>.cleared(key, from: 0, to: session.record.mostChunks)
            return
        }
        machine.sessions[key]?.summaryTopic.reconnected()
        machine.withNews.insert(key)
        if machine.sessions[key]?.record.chunksUntil.map({ $0 > now }) ?? false {
            requestedChunks.append(key)
        } else if retention.stands(key), let summary = machine.knownSummary(key) {
            messages.append(summary)
        }
    }

    // MARK: Messages

    private mutating func receive(_ received: [MQTTMessage], _ now: Timestamp) async throws {
        let parsed = received.map { ($0, topic($0.topic)) }
        try await load(parsed.compactMap { message, topic in message.payload.isEmpty ? nil : topic }, now)
        try await replaceCorruptRecords(parsed, now)
        for (message, topic) in parsed {
            guard case .session(let key, let kind)? = topic, epochs[key.session.shard] != nil else {
                if topic == nil { reject(message, "bad_topic", now) }
                continue
            }
            do throws(PayloadError) {
                try receive(message, key, kind, now)
            } catch {
                reject(message, error.reason, now)
            }
        }
    }

    private mutating func receive(
        _ message: MQTTMessage, _ key: SessionKey, _ kind: SessionTopic, _ now: Timestamp
    ) throws(PayloadError) {
        if let device = Work.kind.device(of: kind) { return try receive(message, from: device, of: key, now) }
        switch kind {
        case .state where !message.payload.isEmpty:
            let state = try SessionState(message.payload)
            guard state.key == key else { throw .malformed("user or session is not the topic's") }
            machine.receive(state, now: now)
            unknown.remove(key)
            for waiting in waitingRoom.take(key) {
                guard case .session(_, let kind)? = topic(waiting.topic), let device = Work.kind.device(of: kind) else {
                    continue
                }
                do throws(PayloadError) {
                    try receive(waiting, from: device, of: key, now)
                } catch {
                    reject(waiting, error.reason, now)
                }
            }
        case _ where kind == Work.kind.summary && !message.payload.isEmpty:
            let seen = try JSONCoding.decode(SeenRevision.self, from: message.payload)
            guard machine.sessions[key] != nil else { break }
            if !retention.stands(key) {
                // It was cleared, and something has brought it back.
                messages += StreamMachine<Work>.cleared(key)
            } else if machine.seeSummary(seen.revision, of: key, now: now), let summary = machine.knownSummary(key) {
                messages.append(summary)
            }
        case .request:
            guard case .chunks = try JSONCoding.decode(SessionRequest.self, from: message.payload).action else { break }
            // What has no summary yet publishes its chunks with it.
            if machine.sessions[key]?.record.report != nil { requestedChunks.append(key) }
        case _ where kind == Work.companion?.topic && !message.payload.isEmpty:
            machine.hear(try Work.Live.read(message.payload), of: key, now: now)
        default: break
        }
    }

    private mutating func receive(
        _ message: MQTTMessage, from device: Device, of key: SessionKey, _ now: Timestamp
    ) throws(PayloadError) {
        let batch = try ItemBatch<Work.Item>(message.payload, accepting: AcceptedTimes(now: now))
        guard machine.sessions[key] != nil else { return waitingRoom.add(message, for: key, now: now) }
        switch machine.receive(batch, from: device, of: key, now: now) {
        case .taken where batch.flaws > 0: reject(message, "flawed_items", now)
        case .taken, .repeated, .gap: break
        case .full: throw .tooLarge("the stream is full")
        case .reused: messages.append(Topic.session(key, Work.kind.ack(device)).message(Ack.streamReused.payload))
        case .dropped:
            let next = Ack.next(batch.first + batch.items.count)
            messages.append(Topic.session(key, Work.kind.ack(device)).message(next.payload))
        }
    }

    private mutating func reject(_ message: MQTTMessage, _ reason: String, _ now: Timestamp) {
        metrics.rejected(reason)
        let told = rejections.reject(topic: message.topic, payload: message.payload, reason: reason, at: now)
        if let told { messages.append(told) }
    }

    /// The topic of a name. Names come again and again, so that what was found is kept.
    private mutating func topic(_ name: String) -> Topic? {
        if let known = topics[name] { return known }
        guard let topic = Topic(name) else { return nil }
        if topics.count >= StreamTimes.topicLimit { topics = [:] }
        topics[name] = topic
        return topic
    }

    /// What is lost with the connection is published again on the next, and devices send again what is not acknowledged.
    private mutating func flush() async {
        await context.send(messages)
        messages = []
    }
}
