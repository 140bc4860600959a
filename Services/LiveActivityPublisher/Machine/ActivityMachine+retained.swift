import Bus
import MQTT
import Workouts

/// The broker may forget everything or bring the past back: the owner says what counts.
extension ActivityMachine {
    /// A new connection: everything retained is published again, sessions that go on first.
    mutating func connected() -> [ActivityAction] {
        forgetEchoes()
        let standing = entries.filter { $0.value.record?.status != nil }
        return standing.sorted { ($0.value.isOver ? 1 : 0, $0.key) < ($1.value.isOver ? 1 : 0, $1.key) }
            .map { .publish($0.key) }
    }

    /// The message that makes known how a session's activities stand; an empty one, which clears the topic, when there are
    /// none.
    mutating func message(of key: SessionKey) -> MQTTMessage {
        let topic = Topic.session(key, .activity)
        guard let status = entries[key]?.record?.status else { return topic.message([]) }
        note(status.revision, of: key)
        return topic.message(JSONCoding.encode(status))
    }

    /// A revision of `activity` that stands on the bus.
    mutating func see(_ revision: Int64, of key: SessionKey, now: Timestamp) -> [ActivityAction] {
        // What was cleared has come back, or is of an earlier life that this store does not know.
        guard let entry = entries[key], let status = entry.record?.status else { return [.publish(key)] }
        switch RetainedRevision(revision, newest: status.revision, published: entry.published) {
        case .known: return []
        case .outdated: return [.publish(key)]
        case .ahead: return change(key, now) { $0.record?.raise(above: revision, now) } + [.publish(key)]
        }
    }
}

extension ActivityRecord {
    fileprivate mutating func raise(above seen: Int64, _ now: Timestamp) {
        revision = max(seen + 1, now.milliseconds)
        status?.revision = revision
        changedAt = now
    }
}
