import Bus
import Timing
import Workouts

/// The live sessions, the cells they are in and what was heard of the weather there.
///
/// It reads no clock and asks nobody: states, positions, answers and time go in, actions and requests come out.
struct WeatherFetcherMachine {
    /// How often the weather of a session is asked for, in seconds.
    static let interval = 300.0
    /// A provider that wants to be asked less often than that is heard up to this, in seconds.
    static let cachingLimit = 3_600.0
    /// The wait after failures, of a cell and of the provider.
    static let backoff = Backoff(minimum: 5, maximum: 300)
    /// Concurrent requests.
    static let concurrency = 4

    struct Entry {
        enum Phase: Equatable {
            /// Read from the store: its state is not known yet.
            case unheard
            /// It goes on, at least until the engine gives it up.
            case live(until: Timestamp?)
            /// Over: what was published last stands.
            case over
        }

        var record: WeatherRecord
        var phase = Phase.unheard
        var stateRevision: Int64 = 0
        /// `weather`.
        var topic: RetainedTopic

        init(_ record: WeatherRecord) {
            self.record = record
            topic = RetainedTopic(revision: record.revision)
        }

        var isLive: Bool {
            guard case .live = phase else { return false }
            return true
        }
    }

    struct Cell {
        var reading: Reading?
        /// When to ask, or ask again.
        var dueAt: Timestamp
        /// When it was asked for what has not come yet.
        var askedAt: Timestamp?
        /// Failures in a row.
        var failures = 0
        /// The live sessions in it.
        var sessions: Set<SessionKey> = []

        /// Whether it is time to ask. What lies further ahead than it can be was reckoned before the clock was set back.
        func isDue(_ now: Timestamp) -> Bool {
            askedAt == nil && (dueAt <= now || dueAt > now + WeatherFetcherMachine.cachingLimit)
        }
    }

    var entries: [SessionKey: Entry] = [:]
    var cells: [WeatherCell: Cell] = [:]
    var breaker = CircuitBreaker()
    /// What the provider's terms allow; `nil` when there is no limit.
    var budget: TokenBucket<Timestamp>?
    /// Whose answers these are; `nil` when nobody is asked.
    let provider: String?
    /// The failure that was reported last, until the provider answers again.
    var reportedFailure: FetchFailure.Kind?
    var hasAnswered = false
    /// Something has changed since requests were looked for.
    var needsLook = false
    /// When time was looked at last.
    var sweptAt: Timestamp?

    /// - Parameters:
    ///   - provider: its name in the answers; `nil` when nobody is to be asked.
    ///   - budget: what its terms allow.
    init(provider: String?, budget: TokenBucket<Timestamp>? = nil) {
        self.provider = provider
        self.budget = budget
    }

    // MARK: Sessions

    mutating func load(_ record: WeatherRecord, of key: SessionKey) {
        entries[key] = Entry(record)
    }

    /// Takes a session's state; an older one changes nothing.
    mutating func receive(_ state: SessionState, now: Timestamp) -> [WeatherAction] {
        let key = state.key
        guard state.revision >= entries[key]?.stateRevision ?? 0 else { return [] }
        entries[key]?.stateRevision = state.revision
        switch state.status {
        case .preparing, .active, .paused, .suspended: return goOn(state, now)
        case .saving, .completed, .canceled: return end(key, isFinal: state.status != .canceled)
        case .deleted:
            leave(key)
            guard let entry = entries.removeValue(forKey: key) else { return [] }
            return entry.record.reading == nil ? [.erase(key)] : [.erase(key), .clear(key)]
        }
    }

    /// The broker was told to forget the session: whatever it was, it is over.
    mutating func forgetState(of key: SessionKey) -> [WeatherAction] {
        entries[key] == nil ? [] : end(key, isFinal: true)
    }

    private mutating func goOn(_ state: SessionState, _ now: Timestamp) -> [WeatherAction] {
        let key = state.key
        let isNew = entries[key] == nil
        guard !isNew || state.isLive == true else { return [] }
        var entry = entries[key] ?? Entry(WeatherRecord(changedAt: now))
        entry.stateRevision = state.revision
        entry.phase = .live(until: state.expiresAt)
        let isPlaced = entry.record.cell != nil
        if !isPlaced, let place = state.place, place.isOnEarth { entry.record.cell = WeatherCell(place) }
        entries[key] = entry
        let saves: [WeatherAction] = isNew || (!isPlaced && entry.record.cell != nil) ? [.save(key)] : []
        return saves + join(key, now)
    }

    /// - Parameter isFinal: whether it cannot go on any more.
    private mutating func end(_ key: SessionKey, isFinal: Bool) -> [WeatherAction] {
        leave(key)
        guard let entry = entries[key] else { return [] }
        guard isFinal, entry.record.reading == nil else {
            entries[key]?.phase = .over
            return []
        }
        entries[key] = nil
        return [.erase(key)]
    }

    /// Whether a session goes on and nobody knows where.
    func wantsPosition(_ key: SessionKey) -> Bool {
        guard let entry = entries[key] else { return false }
        return entry.isLive && entry.record.cell == nil
    }

    /// Takes a session's position: the first says where the session takes place.
    mutating func receive(_ position: Place, of key: SessionKey, now: Timestamp) -> [WeatherAction] {
        guard wantsPosition(key), position.isOnEarth else { return [] }
        entries[key]?.record.cell = WeatherCell(position)
        return [.save(key)] + join(key, now)
    }
}
