import Bus
import MQTT
import Workouts

/// The broker may forget everything or bring the past back: the owner says what counts.
extension WeatherMachine {
    /// A new connection: everything retained is published again, live sessions first.
    mutating func connected() -> [WeatherAction] {
        for key in entries.keys { entries[key]?.published = PublishedRevisions() }
        let standing = entries.filter { $0.value.record.reading != nil }
        return standing.sorted { ($0.value.isLive ? 0 : 1, $0.key) < ($1.value.isLive ? 0 : 1, $1.key) }
            .map { .publish($0.key) }
    }

    /// The message that makes the session's weather known; `nil` when there is none.
    mutating func message(of key: SessionKey) -> MQTTMessage? {
        guard let weather = entries[key]?.record.weather else { return nil }
        entries[key]?.published.insert(weather.revision)
        return Topic.session(key, .weather).message(JSONCoding.encode(weather))
    }

    /// A revision of `weather` that stands on the bus.
    mutating func see(_ revision: Int64, of key: SessionKey, now: Timestamp) -> [WeatherAction] {
        guard let entry = entries[key] else { return [.clear(key)] }
        guard entry.record.reading != nil else {
            // What was cleared has come back; or it is of an earlier life that this store does not know, and the next one
            // goes above it.
            guard revision > entry.record.revision else { return [.clear(key)] }
            entries[key]?.record.revision = revision
            return [.save(key)]
        }
        switch RetainedRevision(revision, newest: entry.record.revision, published: entry.published) {
        case .known: return []
        case .outdated: return [.publish(key)]
        case .ahead:
            entries[key]?.record.revision = revision
            return revise(key, now)
        }
    }
}
