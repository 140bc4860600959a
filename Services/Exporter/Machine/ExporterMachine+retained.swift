import Bus
import MQTT
import ServiceKit
import Workouts

/// Statuses are retained topics. A broker may lose them or restore old ones; the exporter then publishes the current ones.
extension ExporterMachine {
    /// Publishes every status again on a new connection, open exports first.
    mutating func connected(now: Moment) -> [ExportAction] {
        reconnected()
        return announce(Set(Shard.all), now: now)
    }

    /// Publishes the statuses of some shards, open exports first.
    func announce(_ shards: Set<Shard>, now: Moment) -> [ExportAction] {
        let keys = entries.keys.filter { shards.contains($0.session.shard) }.sorted { left, right in
            (isOpen(left) ? 0 : 1, left) < (isOpen(right) ? 0 : 1, right)
        }
        return keys.flatMap { key in
            (entries[key]?.record.jobs ?? []).map { .publish(key, $0.target) }
        }
    }

    private func isOpen(_ key: SessionKey) -> Bool { entries[key]?.record.jobs.contains(where: \.isOpen) ?? false }

    /// The retained status of an export. Without a job the message is empty and clears the topic.
    mutating func message(of key: SessionKey, target: Target) -> MQTTMessage {
        let topic = Topic.session(key, .export(target))
        guard let entry = entries[key], let job = entry.record[target] else { return topic.message([]) }
        published(job.revision, of: key, target)
        return topic.message(JSONCoding.encode(job.status(of: key, entry.record.workout)))
    }

    /// Takes a revision of `export/{target}` that arrives from the broker.
    mutating func see(_ revision: Int64, of key: SessionKey, target: Target, now: Moment) -> [ExportAction] {
        // The broker restored a cleared topic, or the store is newer than the topic.
        if entries[key]?.record.isAtRest(now) == true { evict(key) }
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
        message.nextAttemptAt = nextAttemptAt?.wallClock
        message.reason = reason
        message.files = files.isEmpty ? nil : files
        message.mode = mode
        if isForDevice, status == .exporting { message.healthKit = known.healthKit }
        return message
    }
}
