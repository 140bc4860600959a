import Bus
import Client
import Formats
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
    var collector: ChunkCollector
    var outbox: Outbox<ExporterMachine>
    /// Begun exports with their workouts, until their chunks are complete.
    var collecting: [SessionKey: (work: ExportWork, workout: WorkoutRecord)] = [:]
    var files = FileRequests()
    /// Deliveries and removals that the service performs beside the loop.
    var jobs: [TargetJob] = []
    /// An export begins only with a connection, because it may have to request chunks.
    var isConnected = false
    let quota: ExportQuota
    private var memoryTrim = MemoryTrim()

    /// - Parameters:
    ///   - folder: the folder of temporary files.
    ///   - bytesPerDay: the quota of an account.
    init(
        context: ServiceContext, targets: ExportTargets, store: any Store, folder: String,
        bytesPerDay: Int = ExportConfiguration.standardBytesPerDay
    ) {
        quota = ExportQuota(limit: bytesPerDay, context)
        collector = ChunkCollector(limits: .files, folder: folder)
        self.context = context
        self.targets = targets
        self.store = store
        machine = ExporterMachine(policies: targets.policies)
        outbox = Outbox(context: context, store: store)
        metrics = ExporterMetrics(context.metrics, targets: targets.policies.keys)
        context.limits.begin(["file_requests", "export_bytes_per_day"])
    }

    /// - Parameters:
    ///   - outcomes: the outcomes of deliveries since the last event.
    ///   - written: the files that were written since.
    mutating func handle(
        _ event: ServiceEvent, outcomes: [DeliveryOutcome] = [], files written: [WrittenFile] = []
    ) async throws {
        let now = context.clock.moment
        for outcome in outcomes { take(outcome, now) }
        for file in written { files.take(file) }
        outbox.begin(event, with: &machine, at: now)
        switch event {
        case .ownership(.gained(let gained)):
            jobs.append(.removeLeftovers(gained))
            try await load(Set(gained.keys), now)
            quota.load(try await store.records(in: DailyQuota.collection, shards: Set(gained.keys)))
        case .ownership(.releasing(let shards)), .ownership(.lost(let shards)): drop(shards)
        case .announce: break
        case .connected: isConnected = true
        case .disconnected: isConnected = false
        case .batch(let batch):
            metrics.received(batch.messages.count)
            let incoming = batch.messages.map { (message: $0, topic: Topic($0.topic)) }
            try await load(incoming.compactMap { wantsRecord($0.message, $0.topic) }, now)
            let users = incoming.compactMap { wantsTargets($0.message, $0.topic) }
            let names = await targets.names(for: Set(users))
            for (message, topic) in incoming { receiveMessage(message, topic, names, now) }
        case .tick:
            // Counting takes time, so it follows the machine's sweep.
            if machine.sweptAt == now { metrics.show(machine, collector) }
            try await shareQuota(now)
            memoryTrim.tick(now)
        }
        await flush(now)
        await work(now)
    }

    /// The last flush, at shutdown.
    mutating func finish() async {
        await outbox.finish(&machine, at: context.clock.moment)
    }

    mutating func flush(_ now: Moment) async {
        let flushed = await outbox.flush(&machine, at: now)
        drop(flushed.lost)
        let removed = flushed.performed.compactMap { if case .remove(let key) = $0 { key } else { nil } }
        if !removed.isEmpty { jobs.append(.remove(Set(removed))) }
    }

    /// Removes the work of shards that another process owns.
    private mutating func drop(_ shards: Set<Shard>) {
        guard !shards.isEmpty else { return }
        quota.drop(shards)
        collector.drop { shards.contains($0.session.shard) }
        files.drop { shards.contains($0.session.shard) }
        collecting = collecting.filter { !shards.contains($0.key.session.shard) }
        jobs.removeAll { $0.isDelivery(in: shards) }
    }

    /// Takes the outcome of a delivery. An outcome from before a hand-over is neither logged nor counted.
    mutating func take(_ outcome: DeliveryOutcome, _ now: Moment) {
        let isDeleted = machine.deleted.contains(outcome.key)
        guard isDeleted || machine.awaits(outcome.begun, for: outcome.target, of: outcome.key) else { return }
        metrics.ended(outcome)
        outbox.add(quota.takeChanges())
        switch outcome.delivery {
        // The deletion canceled it.
        case _ where isDeleted: break
        case .delivered: context.logger.info("workout exported", metadata: metadata(outcome))
        case .refused(let reason):
            context.logger.error("export refused", metadata: metadata(outcome, reason))
        case .failed(let reason, _):
            context.logger.warning("export failed, retrying", metadata: metadata(outcome, reason))
        }
        outbox.add(
            machine.recordOutcome(
                outcome.delivery, for: outcome.target, of: outcome.key, begun: outcome.begun, now: now))
    }

    private func metadata(_ outcome: DeliveryOutcome, _ reason: String? = nil) -> Logger.Metadata {
        var metadata = LogKey.session(outcome.key, [LogKey.target: "\(outcome.target)"])
        if let reason { metadata[LogKey.reason] = "\(reason)" }
        return metadata
    }

    // MARK: Messages

    /// The user whose targets the message needs.
    private func wantsTargets(_ message: MQTTMessage, _ topic: Topic?) -> User? {
        guard case .session(let key, let topic)? = topic, topic == .workout || topic == .request,
            !message.payload.isEmpty, outbox.owns(key.session.shard)
        else { return nil }
        return key.user
    }

    /// - Parameter targets: those of the users whose messages need them.
    private mutating func receiveMessage(
        _ message: MQTTMessage, _ topic: Topic?, _ targets: [User: [Target]], _ now: Moment
    ) {
        // The filter for sessions' requests matches users' requests too.
        if case .user? = topic { return }
        guard case .session(let key, let topic)? = topic else {
            let rejection = Rejection(badTopic: message.topic, owns: outbox.owns)
            if let rejection { reject(message, rejection, now) }
            return
        }
        guard outbox.owns(key.session.shard) else { return }
        do throws(PayloadError) {
            try receiveSessionMessage(message, key, topic, targets[key.user] ?? [], now)
        } catch {
            reject(message, Rejection(topic: message.topic, error: error), now)
            // session-engine replies to requests.
            guard case .exportResult = topic,
                let (client, reply) = Reply.refusing(message.payload, error, now: now.wallClock)
            else { return }
            outbox.add([.reply(key, client, reply)])
        }
    }

    private mutating func receiveSessionMessage(
        _ message: MQTTMessage, _ key: SessionKey, _ topic: SessionTopic, _ targets: [Target], _ now: Moment
    ) throws(PayloadError) {
        switch topic {
        case .series(let number): try collector.receiveChunk(message.payload, number: number, kind: .series, of: key)
        case .track(let number): try collector.receiveChunk(message.payload, number: number, kind: .track, of: key)
        case _ where message.payload.isEmpty: break
        case .state:
            guard try JSONCoding.decode(SeenStatus.self, from: message.payload).status == .deleted else { break }
            collector.remove(key)
            collecting[key] = nil
            outbox.add(machine.delete(key))
            perform(files.remove(key), now)
        case .profile where Self.hasEdit(message):
            let profile = try SessionProfile(message.payload)
            outbox.add(machine.receiveNotes(ExportRecord.Notes(profile), of: key))
        case .workout:
            let workout = try JSONCoding.decode(WorkoutRecord.self, from: message.payload)
            guard SessionKey(workout.user, workout.session) == key else {
                throw .malformed("user or session is not the topic's")
            }
            let news = machine.receiveWorkout(workout, targets: targets, now: now)
            if !news.isEmpty { machine.payloads[key] = [UInt8](message.payload) }
            outbox.add(news)
        case .summaryMetrics: try receiveSummary(message, .series, of: key)
        case .summaryRoute: try receiveSummary(message, .track, of: key)
        case .export(let target):
            let seen = try JSONCoding.decode(SeenRevision.self, from: message.payload)
            outbox.add(machine.see(seen.revision, of: key, target: target, now: now))
        case .exportResult(let target):
            let result = try JSONCoding.decode(ExportResult.self, from: message.payload)
            outbox.add(machine.receiveResult(result, of: key, target: target, now: now))
        case .request:
            let request = try JSONCoding.decode(SessionRequest.self, from: message.payload)
            if case .file(let format, let from) = request.action {
                receiveFileRequest(request, format, from: from, of: key, now)
            } else {
                outbox.add(machine.answerRequest(request, of: key, targets: targets, now: now))
            }
        default: break
        }
    }

    /// Whether a copy of the profile has an edit; most have none.
    static func hasEdit(_ message: MQTTMessage) -> Bool { message.payload.contains(#""edit":"#.utf8) }

    private mutating func receiveFileRequest(
        _ request: SessionRequest, _ format: String, from: Int, of key: SessionKey, _ now: Moment
    ) {
        guard let client = request.client else { return }
        let reader = FileRequests.Reader(id: request.id, client: client, from: from)
        do throws(Refusal) {
            guard let workout = machine.entries[key]?.record.workout else { throw .noFile }
            guard let format = ExportFormat(rawValue: format) else {
                let formats = ExportFormat.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidCommand("format: unknown '\(format.prefix(40))'; available: \(formats)")
            }
            try files.ask(FileRequests.Name(key: key, format: format), reader, revision: workout.revision, now)
        } catch {
            if error.retryAfter != nil { context.limits.reached("file_requests", by: key.user, at: now) }
            perform([.refuse(key, reader, error)], now)
        }
    }

    private mutating func receiveSummary(
        _ message: MQTTMessage, _ kind: ChunkKind, of key: SessionKey
    ) throws(PayloadError) {
        let summary = try JSONCoding.decode(SummaryHead.self, from: message.payload)
        collector.receiveSummary(revision: summary.revision, chunks: summary.chunks, kind: kind, of: key)
    }

    private mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, _ now: Moment) {
        metrics.rejected(rejection.reason)
        outbox.reject(message, rejection, at: now)
    }
}

/// The part of `state` that the service reads.
private struct SeenStatus: Decodable {
    let status: SessionStatus
}
