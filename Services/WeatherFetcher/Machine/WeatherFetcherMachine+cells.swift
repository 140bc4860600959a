import Bus
import ServiceKit
import Timing
import Workouts

/// The sessions in a cell share its weather.
extension WeatherFetcherMachine {
    /// Adds a live session to its cell and gives it the cell's weather.
    mutating func join(_ key: SessionKey, _ now: Moment) -> [WeatherAction] {
        guard let record = entries[key]?.record, let place = record.cell else { return [] }
        var cell = cells[place] ?? Cell(dueAt: now)
        guard cell.sessions.insert(key).inserted else { return [] }
        // After a restart the cell's reading comes from the sessions in the store.
        if let stored = record.reading, stored.observation.provider == provider,
            cell.reading.map({ $0.fetchedAt < stored.fetchedAt }) ?? true
        {
            cell.reading = stored
            cell.dueAt = max(cell.dueAt, stored.dueAt)
        }
        cells[place] = cell
        needsLook = true
        guard let reading = cell.reading, reading != record.reading, now < reading.staleAt else { return [] }
        return give(reading, to: key, now)
    }

    /// Whether a user's session may be in a cell. A cell that no other session is in costs a request of all users' budget.
    mutating func admits(_ cell: WeatherCell, of user: User, _ now: Moment) -> Bool {
        guard cells[cell] == nil else { return true }
        return newCells.take(user, now)
    }

    mutating func leave(_ key: SessionKey) {
        guard let place = entries[key]?.record.cell else { return }
        cells[place]?.sessions.remove(key)
        if cells[place]?.sessions.isEmpty == true { emptyCells.insert(place) }
    }

    mutating func give(_ reading: WeatherReading, to key: SessionKey, _ now: Moment) -> [WeatherAction] {
        change(key) { entry in
            entry.record.reading = reading
            entry.record.isStale = false
        }
        return revise(key, now)
    }

    /// Gives changed content a new revision.
    mutating func revise(_ key: SessionKey, _ now: Moment) -> [WeatherAction] {
        change(key) { $0.topic.revise(now.wallClock) }
        return noteRevision(key, now)
    }

    /// Saves and publishes the topic's new revision.
    mutating func noteRevision(_ key: SessionKey, _ now: Moment) -> [WeatherAction] {
        guard entries[key] != nil else { return [] }
        change(key) { entry in
            entry.record.revision = entry.topic.revision
            entry.record.changedAt = now
        }
        return [.save(key), .publish(key)]
    }

    /// The requests to make now: cells without weather first, then the longest due.
    mutating func requests(now: Moment) -> [WeatherRequest] {
        guard needsLook, provider != nil else { return [] }
        needsLook = false
        // Until all due cells are requested.
        lookDue = now
        let free = Self.concurrency - cells.values.count { $0.askedAt != nil }
        guard free > 0, !breaker.isOpen(now) else { return [] }
        let due = cells.filter { !$0.value.sessions.isEmpty && $0.value.isDue(now) }
        let places = due.sorted { left, right in
            (left.value.reading == nil ? 0 : 1, left.value.dueAt, left.key)
                < (right.value.reading == nil ? 0 : 1, right.value.dueAt, right.key)
        }
        var requests: [WeatherRequest] = []
        for place in places.prefix(free).map(\.key) {
            guard budget?.take(now) ?? true else { break }
            cells[place]?.askedAt = now
            requests.append(WeatherRequest(cell: place, validator: cells[place]?.reading?.validator))
        }
        if requests.count == due.count {
            lookDue = cells.values.lazy.filter { !$0.sessions.isEmpty && $0.askedAt == nil }.map(\.dueAt).min()
        }
        return requests
    }
}
