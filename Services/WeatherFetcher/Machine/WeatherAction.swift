import Bus
import MQTT
import ServiceKit
import Workouts

/// An action of the machine.
enum WeatherAction: Hashable {
    case save(SessionKey)
    case erase(SessionKey)
    case publish(SessionKey)
    /// Clears the retained topic.
    case clear(SessionKey)
    case report(ProviderReport)
    /// Counts that the user reached the limit of new cells.
    case limit(User)
}

/// A change in the provider's state, reported once.
enum ProviderReport: Hashable {
    case answering
    /// Requests fail; the service retries with backoff.
    case failing(WeatherFetchFailure)
    /// The provider refuses requests; the service pauses until this time.
    case refusing(WeatherFetchFailure, until: Timestamp)
}

extension WeatherAction: OwnedAction {
    var shard: Shard? {
        switch self {
        case .save(let key), .erase(let key), .publish(let key), .clear(let key): key.session.shard
        case .report, .limit: nil
        }
    }

    var urgency: Urgency {
        switch self {
        case .save, .erase, .publish, .clear: .afterCommit
        case .report, .limit: .now
        }
    }
}

extension WeatherFetcherMachine: OwningMachine {
    func writes(for action: WeatherAction) -> [PendingWrite] {
        switch action {
        case .save(let key):
            // The session may have ended since.
            guard let record = entries[key]?.record else { return [] }
            return [.put(WeatherRecord.sessions, key, record)]
        case .erase(let key): return entries[key] == nil ? [.delete(WeatherRecord.sessions, key)] : []
        case .publish, .clear, .report, .limit: return []
        }
    }

    mutating func messages(for action: WeatherAction) -> [MQTTMessage] {
        switch action {
        case .publish(let key): return [message(of: key)].compactMap(\.self)
        case .clear(let key):
            return entries[key]?.record.reading == nil ? [Topic.session(key, .weather).message([])] : []
        case .save, .erase, .report, .limit: return []
        }
    }

    mutating func drop(_ shards: Set<Shard>) {
        for key in positions.keys where shards.contains(key.session.shard) { positions[key] = nil }
        for key in entries.keys where shards.contains(key.session.shard) {
            leave(key)
            store(nil, key)
        }
    }
}
