import Bus
import ServiceKit
import Timing
import Workouts

/// The live sessions, their cells and the weather there.
///
/// A value: it reads no clock and makes no request. States, positions, answers and time go in; actions and requests come out.
struct WeatherFetcherMachine {
    /// The interval between requests for a cell, in seconds.
    static let interval = 300.0
    /// The longest interval that a provider may ask for, in seconds.
    static let cachingLimit = 3_600.0
    /// The wait after failures, of a cell and of the provider.
    static let backoff = Backoff(minimum: 5, maximum: 300)
    /// How many new cells a user may bring at once and in an hour. A train crosses one a minute, a session only its first.
    static let newCells = 20
    /// Concurrent requests.
    static let concurrency = 4

    struct Entry {
        enum Phase: Equatable {
            /// Loaded from the store, or expired. To `live` or `over` with its next state.
            case unknown
            /// Unfinished, at least until it expires. To `unknown` then, to `over` at its end.
            case live(until: Moment?)
            /// Its last weather stays retained. To `live` if the session continues.
            case over
        }

        var record: WeatherRecord
        var phase = Phase.unknown
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
        /// When the next request is due.
        var dueAt: Moment
        /// When the pending request was made.
        var askedAt: Moment?
        /// Failures in a row.
        var failures = 0
        /// The live sessions in it.
        var sessions: Set<SessionKey> = []

        func isDue(_ now: Moment) -> Bool { askedAt == nil && dueAt <= now }
    }

    var entries: [SessionKey: Entry] = [:]
    var cells: [WeatherCell: Cell] = [:]
    /// The new cells that each user may bring now; absent with all of them left.
    var newCells: [User: TokenBucket<Moment>] = [:]
    var breaker = CircuitBreaker()
    /// The provider's request limit, if it has one.
    var budget: TokenBucket<Moment>?
    /// The provider's name; `nil` if no requests are made.
    let provider: String?
    /// The failure that was reported last, until a request succeeds.
    var reportedFailure: FetchFailure.Kind?
    var hasAnswered = false
    /// Something changed since ``requests(now:)`` was called.
    var needsLook = false
    /// When ``advance(to:)`` went through all sessions last.
    var sweptAt: Moment?

    /// - Parameters:
    ///   - provider: the name in its answers; `nil` to make no requests.
    ///   - budget: its request limit.
    init(provider: String?, budget: TokenBucket<Moment>? = nil) {
        self.provider = provider
        self.budget = budget
    }

    // MARK: Sessions

    /// Takes over a session from the store.
    mutating func load(_ record: WeatherRecord, of key: SessionKey, now: Moment) {
        var record = record
        record.limit(to: now)
        entries[key] = Entry(record)
    }

    /// Receives a session's state. An older one changes nothing.
    mutating func receive(_ state: SessionState, now: Moment) -> [WeatherAction] {
        let key = state.key
        guard state.revision >= entries[key]?.stateRevision ?? 0 else { return [] }
        entries[key]?.stateRevision = state.revision
        switch state.status {
        case .preparing, .active, .paused, .suspended: return resume(state, now)
        case .saving, .completed, .canceled: return end(key, isFinal: state.status != .canceled)
        case .deleted:
            leave(key)
            guard let entry = entries.removeValue(forKey: key) else { return [] }
            return entry.record.reading == nil ? [.erase(key)] : [.erase(key), .clear(key)]
        }
    }

    /// The retained state was cleared: the session is over.
    mutating func forgetState(of key: SessionKey) -> [WeatherAction] {
        entries[key] == nil ? [] : end(key, isFinal: true)
    }

    private mutating func resume(_ state: SessionState, _ now: Moment) -> [WeatherAction] {
        let key = state.key
        let isNew = entries[key] == nil
        guard !isNew || state.isLive == true else { return [] }
        var entry = entries[key] ?? Entry(WeatherRecord(changedAt: now))
        entry.stateRevision = state.revision
        entry.phase = .live(until: state.expiresAt.map(now.when))
        let isPlaced = entry.record.cell != nil
        var limits: [WeatherAction] = []
        if !isPlaced, let place = state.place, place.isOnEarth {
            if admits(WeatherCell(place), of: key.user, now) {
                entry.record.cell = WeatherCell(place)
            } else {
                limits = [.limit(key.user)]
            }
        }
        entries[key] = entry
        let saves: [WeatherAction] = isNew || (!isPlaced && entry.record.cell != nil) ? [.save(key)] : []
        return limits + saves + join(key, now)
    }

    /// - Parameter isFinal: whether the session cannot continue.
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

    /// Whether the session is live and its place is unknown.
    func wantsPosition(_ key: SessionKey) -> Bool {
        guard let entry = entries[key] else { return false }
        return entry.isLive && entry.record.cell == nil
    }

    /// Receives a session's position. The first one is its place.
    mutating func receive(_ position: Place, of key: SessionKey, now: Moment) -> [WeatherAction] {
        guard wantsPosition(key), position.isOnEarth else { return [] }
        guard admits(WeatherCell(position), of: key.user, now) else { return [.limit(key.user)] }
        entries[key]?.record.cell = WeatherCell(position)
        return [.save(key)] + join(key, now)
    }
}
