import Bus
import Client
import Foundation
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

extension ExporterLoop {
    /// Begins due exports, takes complete ones from the collector and requests overdue chunks.
    mutating func work(_ now: Moment) async {
        if isConnected, outbox.isWriting { await begin(now) }
        for key in collector.complete { collect(key, now) }
        let steps = files.steps(isCollecting: { [collecting] in collecting[$0] != nil }, now)
        perform(steps, now)
        await collectFiles(of: steps.compactMap { if case .collect(let key) = $0 { key } else { nil } }, now)
        let overdue = collector.advance(to: now)
        for key in overdue.requests {
            let request = SessionRequest(id: CommandID(UUID()), client: context.client, action: .chunks)
            outbox.send(Topic.session(key, .request).message(JSONCoding.encode(request)), of: key.session.shard)
        }
        for key in overdue.expired {
            // The user reads the reason, so it has no path.
            let full = collector.problem(of: key).map {
                "cannot store series or track: \(String(cString: strerror($0.code)))"
            }
            let missing = "no series or track for a minute; check that metrics-aggregator and route-builder run"
            fail(key, full ?? missing, now)
        }
        await flush(now)
    }

    /// Saves and publishes the begun exports before their delivery. If that commit fails, they are delivered
    /// nevertheless, as far as a later commit shows that no other process owns them: after a crash the next process
    /// delivers them again, under the same idempotency key.
    private mutating func begin(_ now: Moment) async {
        let room = targets.concurrency.map { ($0, $1 - machine.underway[$0, default: 0]) }
        let begun = machine.begin(now: now, room: Dictionary(uniqueKeysWithValues: room))
        guard !begun.works.isEmpty else { return }
        outbox.add(begun.actions)
        await flush(now)
        await collect(begun.works, now)
    }

    /// Begins to collect workouts, unless another process owns them by now.
    ///
    /// - Parameter grace: see ``ChunkCollector/want(_:summaries:grace:now:)``.
    private mutating func collect(_ works: [ExportWork], grace: Double? = nil, _ now: Moment) async {
        let works = works.filter { outbox.owns($0.key.session.shard) }
        guard !works.isEmpty else { return }
        let records: [StoreRecord]
        do throws(StoreError) {
            let keys = works.map { StoreKey(shard: $0.key.session.shard, key: "\($0.key)") }
            records = try await store.records(in: ExportRecord.workouts, at: keys)
        } catch {
            // The user reads the reason, so it has no path.
            context.logger.error("workouts unreadable", metadata: [LogKey.error: "\(error)"])
            for work in works { end(work, .failed("cannot read the stored workout"), now) }
            return
        }
        for work in works {
            if quota.isUsedUp(by: work.key.user) {
                end(work, quota.refuse(work.key), now)
                continue
            }
            let bytes = machine.payloads[work.key] ?? records.first { $0.key == "\(work.key)" }?.value ?? []
            do throws(PayloadError) {
                var workout = try JSONCoding.decode(WorkoutRecord.self, from: bytes)
                let notes = machine.entries[work.key]?.record.notes
                (workout.note, workout.exertion) = (notes?.note, notes?.exertion)
                collecting[work.key] = (work, workout)
                collector.want(work.key, summaries: work.summaries, grace: grace, now: now)
            } catch {
                context.logger.error("corrupt record ignored", metadata: LogKey.record("workouts", "\(work.key)"))
                end(work, .refused("the stored workout is corrupt"), now)
            }
        }
    }

    private mutating func collect(_ key: SessionKey, _ now: Moment) {
        guard let (series, track) = collector.take(key), let (work, workout) = collecting.removeValue(forKey: key),
            let epoch = outbox.epochs[key.session.shard]
        else { return }
        let fence = DeliveryFence(key.session, epoch, store)
        let collected = CollectedWork(
            work: work, workout: workout, series: series, track: track, fence: fence, quota: quota)
        if !work.destinations.isEmpty { jobs.append(.deliver(collected)) }
        if files.wants(key) { files.keep(collected, now) }
    }

    private mutating func fail(_ key: SessionKey, _ reason: String, _ now: Moment) {
        guard let (work, _) = collecting.removeValue(forKey: key) else { return }
        end(work, .failed(reason), now)
    }

    private mutating func end(_ work: ExportWork, _ delivery: Delivery, _ now: Moment) {
        for destination in work.destinations {
            take(DeliveryOutcome(key: work.key, destination, delivery: delivery), now)
        }
        guard files.wants(work.key) else { return }
        switch delivery {
        case .delivered: break
        case .refused(let reason), .failed(let reason, _): perform(files.fail(work.key, .fileFailed(reason)), now)
        }
    }

    // MARK: Files

    /// Begins to collect workouts for requested files.
    private mutating func collectFiles(of keys: [SessionKey], _ now: Moment) async {
        guard !keys.isEmpty else { return }
        do {
            // A workout at rest may have left memory since the request.
            try await load(keys, now)
        } catch {
            context.logger.error("exports unreadable", metadata: [LogKey.error: "\(error)"])
            for key in keys { perform(files.fail(key, .fileFailed("cannot read the stored workout")), now) }
            return
        }
        var works: [ExportWork] = []
        for key in keys {
            guard let known = machine.entries[key]?.record.workout else {
                perform(files.remove(key), now)
                continue
            }
            works.append(
                ExportWork(key: key, workout: known.revision, summaries: known.summaries, destinations: []))
        }
        // The owners have published its chunks long ago.
        await collect(works, grace: 0, now)
    }

    /// Performs steps for readers of files, besides ``FileRequests/Step/collect(_:)``.
    mutating func perform(_ steps: [FileRequests.Step], _ now: Moment) {
        for step in steps {
            switch step {
            case .collect: break
            case .write(let name, let collected): jobs.append(.write(name, collected))
            case .answer(let reader, let file): send(file.replies(to: reader, now), to: reader, of: file.name.key)
            case .refuse(let key, let reader, let refusal):
                send([Reply(id: reader.id, revision: nil, now: now.wallClock, error: refusal)], to: reader, of: key)
            }
        }
    }

    private mutating func send(_ replies: [Reply], to reader: FileRequests.Reader, of key: SessionKey) {
        for message in replies.flatMap({ $0.messages(to: key.user, reader.client) }) {
            outbox.send(message, of: key.session.shard)
        }
    }

    /// The jobs since the last call.
    mutating func takeJobs() -> [TargetJob] {
        defer { jobs = [] }
        return jobs
    }

    // MARK: The quota

    /// Takes in once a minute what other replicas exported for accounts, shows the highest number and stores what grew.
    mutating func shareQuota(_ now: Moment) async throws {
        guard quota.isShareDue(now) else { return }
        let others = Set(Shard.all.filter { !outbox.owns($0) })
        if !others.isEmpty {
            quota.see(try await store.records(in: DailyQuota.collection, shards: others))
        }
        metrics.quota(highest: quota.highest)
        outbox.add(quota.takeChanges())
    }

    // MARK: The store

    /// Loads every session that is not at rest.
    mutating func load(_ shards: Set<Shard>, _ now: Moment) async throws {
        // The store keeps sessions at rest forever. Loading one shard at a time bounds the memory.
        for shard in shards.sorted() {
            for record in try await store.records(in: ExportRecord.exports, shards: [shard]) {
                load(record, now) { !$0.isAtRest(now) }
            }
        }
        context.logger.info("exports loaded", metadata: [LogKey.count: "\(machine.entries.count)"])
    }

    /// Loads the messages' sessions that are not in memory.
    mutating func load(_ keys: [SessionKey], _ now: Moment) async throws {
        let wanted = Set(keys).filter { machine.entries[$0] == nil && outbox.owns($0.session.shard) }.sorted()
        guard !wanted.isEmpty else { return }
        let places = wanted.map { StoreKey(shard: $0.session.shard, key: "\($0)") }
        for record in try await store.records(in: ExportRecord.exports, at: places) {
            load(record, now) { _ in true }
        }
    }

    private mutating func load(_ record: StoreRecord, _ now: Moment, where isWanted: (ExportRecord) -> Bool) {
        do throws(PayloadError) {
            guard let key = SessionKey(record.key) else { throw .malformed("not a session's key") }
            let exports = try JSONCoding.decode(ExportRecord.self, from: record.value, now: now)
            if isWanted(exports) { outbox.add(machine.load(exports, of: key, now: now)) }
        } catch {
            // Its workout is exported again, under the same keys and names.
            context.logger.error("corrupt record ignored", metadata: LogKey.record("exports", record.key))
        }
    }

    /// The session whose record the message needs.
    func wantsRecord(_ message: MQTTMessage, _ topic: Topic?) -> SessionKey? {
        guard case .session(let key, let topic)? = topic, !message.payload.isEmpty else { return nil }
        switch topic {
        case .workout, .exportResult, .request: return key
        case .profile: return Self.hasEdit(message) ? key : nil
        // Most states are of sessions without an export.
        case .state: return message.payload.contains(#""deleted""#.utf8) ? key : nil
        default: return nil
        }
    }
}
