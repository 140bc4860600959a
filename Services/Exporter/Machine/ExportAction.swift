import Bus
import MQTT
import ServiceKit
import Storage
import Workouts

/// An effect that the machine requests.
enum ExportAction: Hashable {
    /// Saves the session's record as it is at the time of the commit.
    case save(SessionKey)
    /// Saves the received workout beside the record.
    case saveWorkout(SessionKey)
    /// Erases the record and the workout.
    case erase(SessionKey)
    /// Publishes ``ExporterMachine/message(of:target:)`` on `export/{target}`.
    case publish(SessionKey, Target)
    /// Removes a deleted session from all targets.
    case remove(SessionKey)
    case reply(SessionKey, Client?, Reply)
    /// Saves what an account has used of its quota; `nil` erases it.
    case saveUse(StoreKey, [UInt8]?)
}

extension ExportAction: OwnedAction {
    var shard: Shard? {
        switch self {
        case .save(let key), .saveWorkout(let key), .erase(let key), .publish(let key, _), .remove(let key),
            .reply(let key, _, _):
            key.session.shard
        case .saveUse(let key, _): key.shard
        }
    }

    var urgency: Urgency {
        switch self {
        case .save, .saveWorkout, .erase, .publish, .remove, .saveUse: .afterCommit
        // A client that gets no reply sends its request again.
        case .reply: .dropIfRefused
        }
    }
}

extension ExporterMachine: OwningMachine {
    var pendingBytes: Int { payloads.values.reduce(0) { $0 + $1.count } }

    func writes(for action: ExportAction) -> [PendingWrite] {
        switch action {
        case .save(let key):
            // The session may be deleted since.
            guard let record = entries[key]?.record else { return [] }
            return [.put(ExportRecord.exports, key, record)]
        case .saveWorkout(let key):
            guard let payload = payloads[key] else { return [] }
            return [PendingWrite(ExportRecord.workouts, .put(key: "\(key)", value: payload))]
        case .erase(let key): return [.delete(ExportRecord.exports, key), .delete(ExportRecord.workouts, key)]
        case .saveUse(let key, let value?):
            return [PendingWrite(DailyQuota.collection, .put(key: key.key, value: value))]
        case .saveUse(let key, nil): return [.delete(DailyQuota.collection, key.key)]
        case .publish, .remove, .reply: return []
        }
    }

    mutating func messages(for action: ExportAction) -> [MQTTMessage] {
        switch action {
        case .saveWorkout(let key):
            payloads[key] = nil
            return []
        case .publish(let key, let target): return [message(of: key, target: target)]
        case .reply(let key, let client, let reply): return reply.messages(to: key.user, client)
        case .save, .erase, .remove, .saveUse: return []
        }
    }

    mutating func drop(_ shards: Set<Shard>) {
        for key in entries.keys where shards.contains(key.session.shard) { evict(key) }
        payloads = payloads.filter { !shards.contains($0.key.session.shard) }
        // The deletion may not be on disk: this process repeats it if it gains the shard again.
        deleted.remove { shards.contains($0.session.shard) }
    }
}
