import Bus
import Client
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

/// The service's one flow of events and the only place where its machine meets disk and bus.
struct ExporterLoop {
    let context: ServiceContext
    let store: any Store
    let metrics: ExporterMetrics
    let targets: ExportTargets
    var machine: ExporterMachine
    var collector = ChunkCollector()
    var epochs: [Shard: Epoch] = [:]
    /// What is still to be done; more than one event's worth only while the disk refuses.
    var actions: [ExportAction] = []
    /// When so much waits for a disk that refuses, in bytes, nothing more is read from the broker, which has room of its own.
    var waitingLimit = 64 << 20
    /// The batch that nothing is read after.
    var unacknowledged: MQTTBatch?
    /// Payloads of workouts that are not on disk yet.
    var workouts: [SessionKey: [UInt8]] = [:]
    /// What was begun, with its workout, until its chunks have come.
    var collecting: [SessionKey: (work: ExportWork, workout: WorkoutRecord)] = [:]
    /// Deliveries and removals that the service performs beside the loop.
    var jobs: [TargetJob] = []
    /// Requests for chunks, and refused payloads that operators are to be told of.
    var messages: [MQTTMessage] = []
    /// Without a connection nothing is begun: what belongs to it could not be asked for.
    var isConnected = false
    /// The commits to it, with a disk left alone that refuses.
    var commits: StoreCommits
    private var rejections = Rejections(service: "exporter")

    init(
        context: ServiceContext, targets: ExportTargets, store: any Store, health: StoreHealth = StoreHealth()
    ) {
        self.context = context
        self.targets = targets
        self.store = store
        machine = ExporterMachine(policies: targets.policies)
        commits = StoreCommits(store, health, context.logger, complaint: "exports not saved, trying again")
        metrics = ExporterMetrics(context.metrics)
    }

    /// - Parameter outcomes: the outcomes of deliveries since the last event.
    mutating func handle(_ event: ServiceEvent, outcomes: [DeliveryOutcome] = []) async throws {
        let now = context.clock.now
        for outcome in outcomes { take(outcome, now) }
        switch event {
        case .ownership(.gained(let gained)):
            epochs.merge(gained) { $1 }
            jobs.append(.removeLeftovers(Set(gained.keys)))
            try await load(Set(gained.keys), now)
        case .ownership(.releasing(let shards)), .ownership(.lost(let shards)): drop(shards)
        case .announce(let shards): actions += machine.announce(shards)
        case .connected:
            isConnected = true
            actions += machine.connected()
        case .disconnected: isConnected = false
        case .batch(let batch):
            metrics.received(batch.messages.count)
            let incoming = batch.messages.map { (message: $0, topic: Topic($0.topic)) }
            try await load(incoming.compactMap { wantsRecord($0.message, $0.topic) }, now)
            for (message, topic) in incoming { receive(message, topic, now) }
            await perform(now, acknowledging: batch)
            return await goOn(now)
        case .tick:
            actions += machine.advance(to: now)
            // Counting takes time: as often as the machine looks at all sessions.
            if machine.sweptAt == now { metrics.show(machine, collector) }
        }
        await perform(now)
        await goOn(now)
    }

    /// Takes the outcome of a delivery. An outcome from before a hand-over is neither logged nor counted.
    mutating func take(_ outcome: DeliveryOutcome, _ now: Timestamp) {
        let isDeleted = machine.deleted.contains(outcome.key)
        guard isDeleted || machine.awaits(outcome.begun, for: outcome.target, of: outcome.key) else { return }
        metrics.ended(outcome)
        switch outcome.delivery {
        // The deletion canceled it.
        case _ where isDeleted: break
        case .delivered: context.logger.info("workout exported", metadata: metadata(outcome))
        case .refused(let reason):
            context.logger.error("export refused", metadata: metadata(outcome, reason))
        case .failed(let reason, _):
            context.logger.warning("export failed, retrying", metadata: metadata(outcome, reason))
        }
        actions += machine.receive(
            outcome.delivery, for: outcome.target, of: outcome.key, begun: outcome.begun, now: now)
    }

    private func metadata(_ outcome: DeliveryOutcome, _ reason: String? = nil) -> Logger.Metadata {
        var metadata: Logger.Metadata = [LogKey.session: "\(outcome.key)", "target": "\(outcome.target)"]
        if let reason { metadata[LogKey.reason] = "\(reason)" }
        return metadata
    }

    // MARK: Messages

    private mutating func receive(_ message: MQTTMessage, _ topic: Topic?, _ now: Timestamp) {
        // The filter for sessions' requests takes users' for ones too.
        if case .user? = topic { return }
        guard case .session(let key, let topic)? = topic else { return reject(message, "bad_topic", now) }
        guard epochs[key.session.shard] != nil else { return }
        do throws(PayloadError) {
            try receive(message, key, topic, now)
        } catch {
            reject(message, error.reason, now)
        }
    }

    private mutating func receive(
        _ message: MQTTMessage, _ key: SessionKey, _ topic: SessionTopic, _ now: Timestamp
    ) throws(PayloadError) {
        switch topic {
        case .series(let number): try collector.receive(message.payload, number: number, kind: .series, of: key)
        case .track(let number): try collector.receive(message.payload, number: number, kind: .track, of: key)
        case _ where message.payload.isEmpty: break
        case .state:
            guard try JSONCoding.decode(SeenStatus.self, from: message.payload).status == .deleted else { break }
            collector.remove(key)
            collecting[key] = nil
            workouts[key] = nil
            actions += machine.delete(key)
        case .workout:
            let workout = try JSONCoding.decode(WorkoutRecord.self, from: message.payload)
            guard SessionKey(workout.user, workout.session) == key else {
                throw .malformed("user or session is not the topic's")
            }
            let news = machine.receive(workout, targets: targets.names(for: key.user), now: now)
            // A slice would keep the bytes of its whole batch.
            if !news.isEmpty { workouts[key] = [UInt8](message.payload) }
            actions += news
        case .summaryMetrics: try receiveSummary(message, .series, of: key)
        case .summaryRoute: try receiveSummary(message, .track, of: key)
        case .export(let target):
            let seen = try JSONCoding.decode(SeenRevision.self, from: message.payload)
            actions += machine.see(seen.revision, of: key, target: target, now: now)
        case .exportResult(let target):
            let result = try JSONCoding.decode(ExportResult.self, from: message.payload)
            actions += machine.receive(result, of: key, target: target, now: now)
        case .request:
            let request = try JSONCoding.decode(SessionRequest.self, from: message.payload)
            actions += machine.receive(request, of: key, targets: targets.names(for: key.user), now: now)
        default: break
        }
    }

    private mutating func receiveSummary(
        _ message: MQTTMessage, _ kind: ChunkKind, of key: SessionKey
    ) throws(PayloadError) {
        let summary = try JSONCoding.decode(SummaryHead.self, from: message.payload)
        collector.receive(revision: summary.revision, chunks: summary.chunks, kind: kind, of: key)
    }

    private mutating func reject(_ message: MQTTMessage, _ reason: String, _ now: Timestamp) {
        metrics.rejected(reason)
        let told = rejections.reject(topic: message.topic, payload: message.payload, reason: reason, at: now)
        if let told { messages.append(told) }
    }

    /// Another process works for these shards now.
    mutating func drop(_ shards: Set<Shard>) {
        for shard in shards { epochs[shard] = nil }
        machine.drop { shards.contains($0.session.shard) }
        collector.drop { shards.contains($0.session.shard) }
        collecting = collecting.filter { !shards.contains($0.key.session.shard) }
        jobs.removeAll { $0.isDelivery(in: shards) }
        workouts = workouts.filter { !shards.contains($0.key.session.shard) }
    }
}

/// What is read of every `state`.
private struct SeenStatus: Decodable {
    let status: SessionStatus
}

/// What is read of every summary.
private struct SummaryHead: Decodable {
    let revision: Int64
    let chunks: Int
}
