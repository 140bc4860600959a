import Bus
import MQTT
import ServiceKit
import Workouts

/// An effect that the machine requests.
enum ActivityAction: Hashable {
    /// The session's record, as it is when it is written.
    case save(SessionKey)
    case erase(SessionKey)
    /// Publishes what ``LiveActivityPublisherMachine/message(of:)`` returns by then.
    case publish(SessionKey)
    /// The record of a user's notifications, as it is when it is written; erased if there is none.
    case saveNotifications(User)
    case reply(PushOwner, Client?, Reply)
    /// Counts an alert that the limit of a user's alerts drops.
    case dropAlert(User)
    case report(PushReport)
}

/// A change in APNs' state, for the log.
enum PushReport: Hashable {
    case answering
    /// Pushes fail; the service retries with backoff.
    case failing(String)
    /// APNs refuses pushes because of a mistake in this program or its settings.
    case refusing(String)
}

extension ActivityAction: OwnedAction {
    var shard: Shard? {
        switch self {
        case .save(let key), .erase(let key), .publish(let key): key.session.shard
        case .saveNotifications(let user), .dropAlert(let user): user.shard
        case .reply(let owner, _, _): owner.shard
        case .report: nil
        }
    }

    var urgency: Urgency {
        switch self {
        case .save, .erase, .publish, .saveNotifications: .afterCommit
        // A device that gets no reply registers again.
        case .reply: .dropIfRefused
        case .dropAlert, .report: .now
        }
    }
}

extension LiveActivityPublisherMachine: OwningMachine {
    func writes(for action: ActivityAction) -> [PendingWrite] {
        switch action {
        case .save(let key):
            // The record may be erased since.
            guard let record = entries[key]?.record else { return [] }
            return [.put(ActivityRecord.activities, key, record)]
        case .erase(let key): return entries[key]?.record == nil ? [.delete(ActivityRecord.activities, key)] : []
        case .saveNotifications(let user):
            guard let record = notifications.entries[user]?.record else {
                return [.delete(NotificationRecord.notifications, user)]
            }
            return [.put(NotificationRecord.notifications, user, record)]
        case .publish, .reply, .dropAlert, .report: return []
        }
    }

    mutating func messages(for action: ActivityAction) -> [MQTTMessage] {
        switch action {
        case .publish(let key): [message(of: key)]
        case .reply(let owner, let client, let reply): reply.messages(to: owner.user, client)
        case .save, .erase, .saveNotifications, .dropAlert, .report: []
        }
    }

    mutating func drop(_ shards: Set<Shard>) {
        for key in entries.keys where shards.contains(key.session.shard) { forget(key) }
        notifications.drop(shards)
    }
}
