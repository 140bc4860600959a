import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

extension LiveActivityPublisherLoop {
    /// Does what is to be done: one commit, then the batch's acknowledgement, then everything that is sent. While the disk
    /// refuses, it waits.
    mutating func perform(_ now: Timestamp, acknowledge: () -> Void) async {
        report()
        let isSaved = await commit(now)
        // Whoever gets no reply registers again; states and snapshots are retained.
        acknowledge()
        var messages = rejected
        rejected = []
        if isSaved {
            for action in actions.uniqued() {
                if let message = message(for: action) { messages.append(message) }
            }
            actions = []
            ready += unsaved.compactMap { machine.remake($0, now: now) }
            unsaved = []
        } else {
            // Each is to be done only once when the disk takes it, and replies would be too many.
            dropReplies()
            actions = actions.uniqued()
        }
        await context.send(messages)
    }

    private mutating func commit(_ now: Timestamp) async -> Bool {
        if commits.isResting(now) { return actions.isEmpty }
        let writes = actions.uniqued().compactMap { write($0) }
        guard !writes.isEmpty else { return true }
        switch await commits.commit(writes, now) {
        case .committed(let report):
            if !report.lostShards.isEmpty {
                drop(report.lostShards)
                // What is answered now may not be on disk, and the new owner is asked again.
                dropReplies()
            }
            return true
        case .refused: return false
        }
    }

    /// Whoever gets no reply registers again.
    private mutating func dropReplies() {
        actions.removeAll { if case .reply = $0 { true } else { false } }
    }

    private func write(_ action: ActivityAction) -> StoreWrite? {
        let key: SessionKey
        let change: StoreWrite.Change
        switch action {
        case .save(let saved):
            // By now it may be erased.
            guard let record = machine.entries[saved]?.record else { return nil }
            key = saved
            change = .put(key: "\(saved)", value: JSONCoding.encode(record))
        case .erase(let erased):
            guard machine.entries[erased]?.record == nil else { return nil }
            key = erased
            change = .delete(key: "\(erased)")
        case .publish, .reply, .report: return nil
        }
        guard let epoch = epochs[key.session.shard] else { return nil }
        return StoreWrite(
            shard: key.session.shard, epoch: epoch, collection: ActivityRecord.activities, change: change)
    }

    private mutating func message(for action: ActivityAction) -> MQTTMessage? {
        switch action {
        case .publish(let key):
            guard epochs[key.session.shard] != nil else { return nil }
            return machine.message(of: key)
        case .reply(let user, let client, let reply):
            return Topic.user(user, .replies(client)).message(JSONCoding.encode(reply))
        case .save, .erase, .report: return nil
        }
    }

    /// Tells operators of APNs. It waits for no disk.
    private mutating func report() {
        for case .report(let report) in actions {
            switch report {
            case .answering: context.logger.notice("APNs takes pushes again")
            case .failing(let reason):
                context.logger.warning("pushes fail, trying again", metadata: [LogKey.reason: "\(reason)"])
            case .refusing(let reason):
                context.logger.error(
                    "APNs refuses pushes; look at the key, the team and the app in the settings",
                    metadata: [LogKey.reason: "\(reason)"])
            }
        }
        actions.removeAll { if case .report = $0 { true } else { false } }
    }

    /// Takes over what devices said and were told.
    mutating func load(_ shards: Set<Shard>, _ now: Timestamp) async throws {
        for record in try await store.records(in: ActivityRecord.activities, shards: shards) {
            do throws(PayloadError) {
                guard let key = SessionKey(record.key) else { throw .malformed("not a session's key") }
                machine.load(try JSONCoding.decode(ActivityRecord.self, from: record.value), of: key, now: now)
            } catch {
                // Devices register again.
                context.logger.error("corrupt record ignored", metadata: [LogKey.record: "activities/\(record.key)"])
            }
        }
        context.logger.info("activities loaded", metadata: [LogKey.count: "\(machine.entries.count)"])
    }
}
