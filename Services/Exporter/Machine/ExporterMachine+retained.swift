import Bus
import MQTT
import Workouts

/// The broker may forget everything or bring the past back: the owner says what counts.
extension ExporterMachine {
    /// A new connection: all retained topics are published again, open exports first.
    mutating func connected() -> [ExportAction] {
        reconnected()
        return announce(Set(Shard.all))
    }

    /// The retained topics of some shards, open exports first.
    func announce(_ shards: Set<Shard>) -> [ExportAction] {
        let keys = entries.keys.filter { shards.contains($0.session.shard) }.sorted { left, right in
            (isOpen(left) ? 0 : 1, left) < (isOpen(right) ? 0 : 1, right)
        }
        return keys.flatMap { key in
            (entries[key]?.record.jobs ?? []).map { .publish(key, $0.target) }
        }
    }

    private func isOpen(_ key: SessionKey) -> Bool { entries[key]?.record.jobs.contains(where: \.isOpen) ?? false }

    /// The message that makes known how far an export has come; an empty one, which clears the topic, when there is none.
    mutating func message(of key: SessionKey, target: Target) -> MQTTMessage {
        let topic = Topic.session(key, .export(target))
        guard let entry = entries[key], let job = entry.record[target] else { return topic.message([]) }
        published(job.revision, of: key, target)
        return topic.message(JSONCoding.encode(job.status(of: key, entry.record.workout)))
    }

    /// A revision of `export/{target}` that stands on the bus.
    mutating func see(_ revision: Int64, of key: SessionKey, target: Target, now: Timestamp) -> [ExportAction] {
        // What was cleared has come back, or is of an earlier life that this store does not know.
        if entries[key]?.record.isAtRest(now) == true { forget(key) }
        guard var entry = entries[key] else { return [.publish(key, target)] }
        switch entry.see(revision, target, now) {
        case .known: return []
        case .republish: return [.publish(key, target)]
        case .revised:
            store(entry, key)
            return [.save(key), .publish(key, target)]
        }
    }
}

extension ExportJob {
    fileprivate func status(of key: SessionKey, _ known: ExportRecord.Workout) -> ExportStatus {
        var message = ExportStatus(
            key: key, target: target, revision: revision, status: status, workout: workout, attempts: attempts)
        message.nextAttemptAt = nextAttemptAt
        message.reason = reason
        message.files = files.isEmpty ? nil : files
        guard target == .healthKit else { return message }
        message.mode = mode
        if status == .exporting { message.healthKit = known.healthKit }
        return message
    }
}
