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
    private static let newCells = 20.0
    /// How long a position waits for the session's state, in seconds, and how many wait at most.
    static let stateTimeout = 60.0
    static let positionLimit = 20_000
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
        /// Whether a position can be its place; an indoor session has none but its start's.
        var isOutdoor = true
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

        var isUnplaced: Bool { isLive && record.cell == nil }

        /// The next time at which time alone changes it.
        var due: Moment? {
            let clearing = record.changedAt + RetainedTopic.lifetime
            guard case .live(let until) = phase else { return clearing }
            guard let reading = record.reading else { return until }
            return [until, record.isStale ? nil : reading.staleAt, clearing].compactMap(\.self).min()
        }
    }

    struct Cell {
        var reading: WeatherReading?
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

    private(set) var entries: [SessionKey: Entry] = [:]
    /// The numbers of live sessions, and of those without a place.
    private(set) var liveCount = 0
    private(set) var unplacedCount = 0
    /// The times at which time alone changes a session.
    var deadlines = Deadlines<SessionKey, Moment>()
    var cells: [WeatherCell: Cell] = [:]
    /// Cells that sessions left.
    var emptyCells: Set<WeatherCell> = []
    /// The last positions of sessions without a place, and when they arrived: `heard` may precede the state, and comes every
    /// few minutes only.
    var positions: [SessionKey: (cell: WeatherCell, at: Moment)] = [:]
    /// The new cells that each user may bring now.
    var newCells = RateTable<User, Moment>(burst: Self.newCells, perSecond: Self.newCells / 3_600)
    var breaker = CircuitBreaker()
    /// The provider's request limit, if it has one.
    var budget: TokenBucket<Moment>?
    /// The provider's name; `nil` if no requests are made.
    let provider: String?
    /// The failure that was reported last, until a request succeeds.
    var reportedFailure: WeatherFetchFailure.Kind?
    var hasAnswered = false
    /// Something changed since ``requests(now:)`` was called.
    var needsLook = false
    /// When the next cell is due without a change; `nil` if none is.
    var lookDue: Moment?
    /// When ``advance(to:)`` last removed what has expired.
    var sweptAt: Moment?

    /// - Parameters:
    ///   - provider: the name in its answers; `nil` to make no requests.
    ///   - budget: its request limit.
    init(provider: String?, budget: TokenBucket<Moment>? = nil) {
        self.provider = provider
        self.budget = budget
    }

    // MARK: Sessions

    /// Replaces a session; `nil` removes it.
    mutating func store(_ entry: Entry?, _ key: SessionKey) {
        let old = entries[key]
        entries[key] = entry
        liveCount += (entry?.isLive == true ? 1 : 0) - (old?.isLive == true ? 1 : 0)
        unplacedCount += (entry?.isUnplaced == true ? 1 : 0) - (old?.isUnplaced == true ? 1 : 0)
        if entry == nil { deadlines.remove(key) }
        if let due = entry?.due { deadlines.schedule(key, at: due) }
    }

    mutating func change(_ key: SessionKey, _ body: (inout Entry) -> Void) {
        guard var entry = entries[key] else { return }
        body(&entry)
        store(entry, key)
    }

    /// Takes over a session from the store.
    mutating func load(_ record: WeatherRecord, of key: SessionKey, now: Moment) {
        var record = record
        record.limit(to: now)
        store(Entry(record), key)
    }

    /// Receives a session's state. An older one changes nothing.
    mutating func receiveState(_ state: SessionState, now: Moment) -> [WeatherAction] {
        let key = state.key
        guard state.revision >= entries[key]?.stateRevision ?? 0 else { return [] }
        change(key) { $0.stateRevision = state.revision }
        if state.status.isUnfinished { return resume(state, now) }
        guard state.status == .deleted else { return end(key, isFinal: state.status.isEnded) }
        positions[key] = nil
        leave(key)
        guard let entry = entries[key] else { return [] }
        store(nil, key)
        return entry.record.reading == nil ? [.erase(key)] : [.erase(key), .clear(key)]
    }

    /// The retained state was cleared: the session is over.
    mutating func forgetState(of key: SessionKey) -> [WeatherAction] {
        entries[key] == nil ? [] : end(key, isFinal: true)
    }

    private mutating func resume(_ state: SessionState, _ now: Moment) -> [WeatherAction] {
        let key = state.key
        let isNew = entries[key] == nil
        guard !isNew || state.isLive == true else {
            positions[key] = nil
            return []
        }
        var entry = entries[key] ?? Entry(WeatherRecord(changedAt: now))
        entry.stateRevision = state.revision
        entry.phase = .live(until: state.expiresAt.map(now.when))
        entry.isOutdoor = state.environment == .outdoor
        store(entry, key)
        if !entry.isOutdoor { positions[key] = nil }
        let start = state.place.flatMap { $0.isOnEarth ? WeatherCell($0) : nil }
        var actions: [WeatherAction] = []
        if entry.record.cell == nil, let cell = start ?? positions[key]?.cell {
            actions = place(key, in: cell, now)
        } else {
            actions = join(key, now)
        }
        return isNew && !actions.contains(.save(key)) ? [.save(key)] + actions : actions
    }

    /// - Parameter isFinal: whether the session cannot continue.
    private mutating func end(_ key: SessionKey, isFinal: Bool) -> [WeatherAction] {
        positions[key] = nil
        leave(key)
        guard let entry = entries[key] else { return [] }
        guard isFinal, entry.record.reading == nil else {
            change(key) { $0.phase = .over }
            return []
        }
        store(nil, key)
        return [.erase(key)]
    }

    /// Whether a position may become the session's place, as far as known.
    func wantsPosition(_ key: SessionKey) -> Bool {
        guard let entry = entries[key] else { return true }
        return entry.record.cell == nil && entry.isOutdoor
    }

    /// Receives a session's position. The first one is its place.
    mutating func receivePosition(_ position: Place, of key: SessionKey, now: Moment) -> [WeatherAction] {
        wantsPosition(key) && position.isOnEarth ? place(key, in: WeatherCell(position), now) : []
    }

    /// Places a session, or keeps the cell until its state arrives or its user's limit admits it.
    private mutating func place(_ key: SessionKey, in cell: WeatherCell, _ now: Moment) -> [WeatherAction] {
        let isLive = entries[key]?.isLive == true
        guard isLive, admits(cell, of: key.user, now) else {
            if positions.count < Self.positionLimit || positions[key] != nil { positions[key] = (cell, now) }
            return isLive ? [.limit(key.user)] : []
        }
        positions[key] = nil
        change(key) { $0.record.cell = cell }
        return [.save(key)] + join(key, now)
    }

    /// Places live sessions whose users' limit admits them now, and removes positions of sessions that are not live.
    mutating func placeWaiting(_ now: Moment) -> [WeatherAction] {
        var actions: [WeatherAction] = []
        for (key, position) in positions {
            if entries[key]?.isLive == true {
                actions += place(key, in: position.cell, now).filter { $0 != .limit(key.user) }
            } else if now.seconds(since: position.at) >= Self.stateTimeout {
                positions[key] = nil
            }
        }
        return actions
    }
}
