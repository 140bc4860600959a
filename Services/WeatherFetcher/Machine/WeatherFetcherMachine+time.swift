import Bus
import MQTT
import ServiceKit
import Timing
import Workouts

extension WeatherFetcherMachine {
    private static let sweepInterval = 1.0

    /// Advances to `now`: values become stale, expired sessions leave their cells, retained topics are cleared. Goes
    /// through all sessions once a second.
    mutating func advance(to now: Moment) -> [WeatherAction] {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval }) ?? true else { return [] }
        sweptAt = now
        needsLook = true
        var actions: [WeatherAction] = []
        for (key, entry) in entries {
            if case .live(let until?) = entry.phase, until <= now {
                // The engine published no state for hours, so the session may be over.
                leave(key)
                entries[key]?.phase = .unknown
            } else if entry.isLive, let reading = entry.record.reading, !entry.record.isStale, reading.staleAt <= now {
                entries[key]?.record.isStale = true
                actions += revise(key, now)
            } else if now.seconds(since: entry.record.changedAt) >= RetainedTopic.lifetime {
                actions += expire(key)
            }
        }
        for user in newCells.keys where newCells[user]?.available(now) == Self.newCells { newCells[user] = nil }
        cells = cells.filter { !$0.value.sessions.isEmpty || $0.value.askedAt != nil || $0.value.dueAt > now }
        return actions
    }

    private mutating func expire(_ key: SessionKey) -> [WeatherAction] {
        guard let entry = entries[key] else { return [] }
        let clears: [WeatherAction] = entry.record.reading == nil ? [] : [.clear(key)]
        guard entry.isLive else {
            entries[key] = nil
            return [.erase(key)] + clears
        }
        guard !clears.isEmpty else { return [] }
        entries[key]?.record.reading = nil
        return [.save(key)] + clears
    }
}

/// The broker may lose retained messages or restore old ones. The owner publishes the current ones.
extension WeatherFetcherMachine {
    /// A new connection: all retained topics are published again, live sessions first.
    mutating func connected() -> [WeatherAction] {
        for key in entries.keys { entries[key]?.topic.reconnected() }
        return announce(Set(Shard.all))
    }

    /// The retained topics of some shards, live sessions first.
    func announce(_ shards: Set<Shard>) -> [WeatherAction] {
        let standing = entries.filter { $0.value.record.reading != nil && shards.contains($0.key.session.shard) }
        return standing.sorted { ($0.value.isLive ? 0 : 1, $0.key) < ($1.value.isLive ? 0 : 1, $1.key) }
            .map { .publish($0.key) }
    }

    /// The session's weather; `nil` if there is none.
    mutating func message(of key: SessionKey) -> MQTTMessage? {
        guard let weather = entries[key]?.record.weather else { return nil }
        entries[key]?.topic.published(weather.revision)
        return Topic.session(key, .weather).message(JSONCoding.encode(weather))
    }

    /// Receives a revision of `weather` from the bus.
    mutating func see(_ revision: Int64, of key: SessionKey, now: Moment) -> [WeatherAction] {
        guard var entry = entries[key] else { return [.clear(key)] }
        guard entry.record.reading != nil else {
            // The broker restored a cleared payload. A newer one is from an earlier store: the next revision is above
            // it.
            guard revision > entry.topic.revision else { return [.clear(key)] }
            entry.topic.raise(to: revision)
            entry.record.revision = revision
            entries[key] = entry
            return [.save(key)]
        }
        switch entry.topic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publish(key)]
        case .revised:
            entries[key] = entry
            return noteRevision(key, now)
        }
    }
}
