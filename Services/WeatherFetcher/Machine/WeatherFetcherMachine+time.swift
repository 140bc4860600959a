import Bus
import MQTT
import ServiceKit
import Timing
import Workouts

extension WeatherFetcherMachine {
    private static let sweepInterval = 1.0

    /// Advances to `now`, once a second: values become stale, expired sessions leave their cells, retained topics are cleared.
    mutating func advance(to now: Moment) -> [WeatherAction] {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval }) ?? true else { return [] }
        sweptAt = now
        if let lookDue, lookDue <= now { needsLook = true }
        var actions = placeWaiting(now)
        for key in deadlines.take(by: now) {
            actions += advance(key, to: now)
            if let due = entries[key]?.due { deadlines.schedule(key, at: due) }
        }
        for place in emptyCells {
            guard let cell = cells[place], cell.sessions.isEmpty else {
                emptyCells.remove(place)
                continue
            }
            guard cell.isDue(now) else { continue }
            cells[place] = nil
            emptyCells.remove(place)
        }
        return actions
    }

    private mutating func advance(_ key: SessionKey, to now: Moment) -> [WeatherAction] {
        guard let entry = entries[key] else { return [] }
        if case .live(let until?) = entry.phase, until <= now {
            // The engine published no state for hours, so the session may be over.
            leave(key)
            change(key) { $0.phase = .unknown }
        } else if entry.isLive, let reading = entry.record.reading, !entry.record.isStale, reading.staleAt <= now {
            change(key) { $0.record.isStale = true }
            return revise(key, now)
        } else if now.seconds(since: entry.record.changedAt) >= RetainedTopic.lifetime {
            return expire(key)
        }
        return []
    }

    private mutating func expire(_ key: SessionKey) -> [WeatherAction] {
        guard let entry = entries[key] else { return [] }
        let clears: [WeatherAction] = entry.record.reading == nil ? [] : [.clear(key)]
        guard entry.isLive else {
            store(nil, key)
            return [.erase(key)] + clears
        }
        guard !clears.isEmpty else { return [] }
        change(key) { $0.record.reading = nil }
        return [.save(key)] + clears
    }
}

/// The broker may lose retained messages or restore old ones. The owner publishes the current ones.
extension WeatherFetcherMachine {
    /// A new connection: all retained topics are published again, live sessions first.
    mutating func connected(now: Moment) -> [WeatherAction] {
        for key in entries.keys { change(key) { $0.topic.reconnected() } }
        return announce(Set(Shard.all), now: now)
    }

    /// The retained topics of some shards, live sessions first.
    func announce(_ shards: Set<Shard>, now: Moment) -> [WeatherAction] {
        let standing = entries.filter { $0.value.record.reading != nil && shards.contains($0.key.session.shard) }
        return standing.sorted { ($0.value.isLive ? 0 : 1, $0.key) < ($1.value.isLive ? 0 : 1, $1.key) }
            .map { .publish($0.key) }
    }

    /// The session's weather; `nil` if there is none.
    mutating func message(of key: SessionKey) -> MQTTMessage? {
        guard let weather = entries[key]?.record.weather else { return nil }
        change(key) { $0.topic.published(weather.revision) }
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
            store(entry, key)
            return [.save(key)]
        }
        switch entry.topic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publish(key)]
        case .revised:
            store(entry, key)
            return noteRevision(key, now)
        }
    }
}
