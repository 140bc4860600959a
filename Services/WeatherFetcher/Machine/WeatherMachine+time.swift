import Workouts

extension WeatherMachine {
    private static let sweepInterval = 1.0

    /// Lets the service's clock pass: values become stale, sessions that nobody speaks of leave, retained topics are
    /// cleared. Looks once a second.
    mutating func advance(to now: Timestamp) -> [WeatherAction] {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval || now < $0 }) ?? true else { return [] }
        sweptAt = now
        needsLook = true
        var actions: [WeatherAction] = []
        for (key, entry) in entries {
            if case .live(let until?) = entry.phase, until <= now {
                // The engine has not spoken of it for hours: it may be long over.
                leave(key)
                entries[key]?.phase = .unheard
            } else if entry.isLive, let reading = entry.record.reading, !entry.record.isStale, reading.staleAt <= now {
                entries[key]?.record.isStale = true
                actions += revise(key, now)
            } else if now.seconds(since: entry.record.changedAt) >= Self.retention {
                actions += expire(key)
            }
        }
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
