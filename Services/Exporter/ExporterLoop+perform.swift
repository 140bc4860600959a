import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

extension ExporterLoop {
    /// Does what is to be done: one commit, then the batch's acknowledgement, then everything that is sent. While the disk
    /// refuses, it waits, and from ``waitingLimit`` on nothing more is read.
    mutating func perform(_ now: Timestamp, acknowledging batch: MQTTBatch? = nil) async {
        let isSaved = await commit(now)
        if let batch { unacknowledged = batch }
        // The broker keeps a workout retained, and brings it again on the next connection.
        if isSaved || waitingBytes < waitingLimit {
            unacknowledged?.acknowledge()
            unacknowledged = nil
        }
        var outgoing = messages
        messages = []
        if isSaved {
            var removed: Set<SessionKey> = []
            for action in actions.uniqued() {
                if case .remove(let key) = action { removed.insert(key) }
                if let message = perform(action) { outgoing.append(message) }
            }
            actions = []
            if !removed.isEmpty { jobs.append(.remove(removed)) }
        }
        await context.send(outgoing)
    }

    private mutating func commit(_ now: Timestamp) async -> Bool {
        if commits.isResting(now) { return actions.isEmpty }
        let writes = actions.uniqued().flatMap { self.writes($0) }
        guard !writes.isEmpty else { return true }
        switch await commits.commit(writes, now) {
        case .committed(let report):
            workouts = [:]
            if !report.lostShards.isEmpty {
                drop(report.lostShards)
                // What is answered now may not be on disk. Whoever asks again asks the new owner.
                dropReplies()
            }
            return true
        case .refused:
            dropReplies()
            // Each is to be done only once when the disk takes it.
            actions = actions.uniqued()
            return false
        }
    }

    /// Whoever gets no reply asks again.
    private mutating func dropReplies() {
        actions.removeAll { if case .reply = $0 { true } else { false } }
    }

    /// What waits for the disk, with about what an action takes besides.
    private var waitingBytes: Int {
        workouts.values.reduce(actions.count * 512) { $0 + $1.count }
    }

    private func writes(_ action: ExportAction) -> [StoreWrite] {
        func write(_ key: SessionKey, _ collection: StoreCollection, _ value: [UInt8]?) -> StoreWrite? {
            guard let epoch = epochs[key.session.shard] else { return nil }
            let change = value.map { StoreWrite.Change.put(key: "\(key)", value: $0) } ?? .delete(key: "\(key)")
            return StoreWrite(shard: key.session.shard, epoch: epoch, collection: collection, change: change)
        }
        switch action {
        case .save(let key):
            // By now it may be deleted.
            guard let record = machine.entries[key]?.record else { return [] }
            return [write(key, ExportRecord.exports, JSONCoding.encode(record))].compactMap(\.self)
        case .saveWorkout(let key):
            guard let payload = workouts[key] else { return [] }
            return [write(key, ExportRecord.workouts, payload)].compactMap(\.self)
        case .erase(let key):
            return [ExportRecord.exports, ExportRecord.workouts].compactMap { write(key, $0, nil) }
        case .publish, .remove, .reply: return []
        }
    }

    /// Does what comes after the commit, and returns what is to be sent of it.
    private mutating func perform(_ action: ExportAction) -> MQTTMessage? {
        switch action {
        case .publish(let key, let target):
            guard epochs[key.session.shard] != nil else { return nil }
            return machine.message(of: key, target: target)
        case .reply(let user, let client, let reply):
            return Topic.user(user, .replies(client)).message(JSONCoding.encode(reply))
        case .save, .saveWorkout, .erase, .remove: return nil
        }
    }

    // MARK: The store

    /// Takes over everything that is not at rest.
    mutating func load(_ shards: Set<Shard>, _ now: Timestamp) async throws {
        // What is at rest stays in the store for good: not all of it at once in memory.
        for shard in shards.sorted() {
            for record in try await store.records(in: ExportRecord.exports, shards: [shard]) {
                load(record, now) { !$0.isAtRest(now) }
            }
        }
        context.logger.info("exports loaded", metadata: [LogKey.count: "\(machine.entries.count)"])
    }

    /// Takes over what messages are about and is only in the store.
    mutating func load(_ keys: [SessionKey], _ now: Timestamp) async throws {
        let wanted = Set(keys).filter { machine.entries[$0] == nil && epochs[$0.session.shard] != nil }.sorted()
        guard !wanted.isEmpty else { return }
        let places = wanted.map { StoreKey(shard: $0.session.shard, key: "\($0)") }
        for record in try await store.records(in: ExportRecord.exports, at: places) {
            load(record, now) { _ in true }
        }
    }

    private mutating func load(_ record: StoreRecord, _ now: Timestamp, where isWanted: (ExportRecord) -> Bool) {
        do throws(PayloadError) {
            guard let key = SessionKey(record.key) else { throw .malformed("not a session's key") }
            let exports = try JSONCoding.decode(ExportRecord.self, from: record.value)
            if isWanted(exports) { actions += machine.load(exports, of: key, now: now) }
        } catch {
            // Its workout is exported anew, under the keys and names of the first time.
            context.logger.error("corrupt record ignored", metadata: [LogKey.record: "exports/\(record.key)"])
        }
    }

    /// The session whose record has to be known before the message is handled.
    func wantsRecord(_ message: MQTTMessage, _ topic: Topic?) -> SessionKey? {
        guard case .session(let key, let topic)? = topic, !message.payload.isEmpty else { return nil }
        switch topic {
        case .workout, .exportResult, .request: return key
        // Most states are of sessions that nothing is known of yet.
        case .state: return message.payload.contains(#""deleted""#.utf8) ? key : nil
        default: return nil
        }
    }
}
