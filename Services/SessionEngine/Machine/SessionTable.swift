import Bus
import ServiceKit
import Timing
import Workouts

/// The sessions in memory, by user, status and deadline.
struct SessionTable {
    /// Seconds until a failed action is tried again.
    private static let retryInterval = 1.0

    /// A user's sessions.
    private struct Sessions {
        var all: Set<SessionKey> = []
        /// At most one, besides sessions recorded without a connection.
        var unfinished: Set<SessionKey> = []
        /// Those that ``EngineSession/canRest``, in the order in which they began to.
        var resting: [SessionKey] = []
    }

    private(set) var entries: [SessionKey: EngineSession] = [:]
    private var users: [User: Sessions] = [:]
    /// Sessions by status.
    private(set) var statusCounts: [SessionStatus: Int] = [:]
    /// The times at which time alone may change a session.
    private var deadlines = Deadlines<SessionKey, Moment>()
    /// The start of the connection; `nil` without one.
    private(set) var connectedAt: Moment?

    // MARK: Changes

    mutating func store(_ entry: EngineSession, _ now: Moment) {
        let (key, status) = (entry.key, entry.record.session.statusName)
        let old = entries.updateValue(entry, forKey: key)
        if let old { statusCounts[old.record.session.statusName, default: 0] -= 1 }
        statusCounts[status, default: 0] += 1
        users[key.user, default: Sessions()].all.insert(key)
        if entry.record.session.isUnfinished {
            users[key.user]?.unfinished.insert(key)
        } else {
            users[key.user]?.unfinished.remove(key)
        }
        rest(entry, now)
        schedule(entry, now)
    }

    /// Lets the oldest sessions of a user rest that are above the limit.
    private mutating func rest(_ entry: EngineSession, _ now: Moment) {
        let (user, key) = (entry.key.user, entry.key)
        let isListed = users[user]?.resting.contains(key) ?? false
        if !entry.canRest, isListed { users[user]?.resting.removeAll { $0 == key } }
        guard entry.canRest, !isListed else { return }
        users[user]?.resting.append(key)
        if let last = surplus(of: user).last { deadlines.schedule(last, at: now) }
    }

    mutating func forget(_ key: SessionKey) {
        deadlines.remove(key)
        guard let old = entries.removeValue(forKey: key) else { return }
        statusCounts[old.record.session.statusName, default: 0] -= 1
        users[key.user]?.all.remove(key)
        users[key.user]?.unfinished.remove(key)
        users[key.user]?.resting.removeAll { $0 == key }
        if users[key.user]?.all.isEmpty == true { users[key.user] = nil }
    }

    /// Notes that a revision of a session's topic is published.
    mutating func published(
        _ revision: Int64, of key: SessionKey, _ topic: WritableKeyPath<EngineSession, RetainedTopic>
    ) {
        entries[key]?[keyPath: topic].published(revision)
    }

    /// The status of a session, if it changed since the last call.
    mutating func takeNewStatus(of key: SessionKey) -> SessionStatus? { entries[key]?.takeNewStatus() }

    // MARK: Connection

    /// Messages about the sessions can arrive from now on. Returns those that are withheld until it is decided whether they
    /// expire.
    mutating func connected(_ now: Moment) -> [SessionKey] {
        connectedAt = now
        var withheld: [SessionKey] = []
        for key in entries.keys {
            entries[key]?.reconnected()
            entries[key]?.findOverdue(now)
            guard let entry = entries[key] else { continue }
            if entry.isWithheld { withheld.append(key) }
            schedule(entry, now)
        }
        return withheld
    }

    /// Without a connection no events arrive, so no session expires until the next one.
    mutating func disconnected() { connectedAt = nil }

    // MARK: Time

    private mutating func schedule(_ entry: EngineSession, _ now: Moment) {
        if let due = entry.due(connectedAt: connectedAt, now) { deadlines.schedule(entry.key, at: due) }
    }

    /// Makes all sessions due.
    mutating func scheduleAll(at now: Moment) {
        for key in entries.keys { deadlines.schedule(key, at: now) }
    }

    mutating func takeDue(_ now: Moment) -> [SessionKey] { deadlines.take(by: now) }

    /// Schedules a session that was due. One that still is due is tried again after ``retryInterval``.
    mutating func reschedule(_ key: SessionKey, _ now: Moment) {
        guard let due = entries[key]?.due(connectedAt: connectedAt, now) else { return }
        deadlines.schedule(key, at: due > now ? due : now + Self.retryInterval)
    }

    func goneAt(_ entry: EngineSession) -> Moment? { entry.goneAt(connectedAt: connectedAt) }

    // MARK: Users

    func sessions(of user: User) -> [SessionKey] { users[user]?.all.sorted() ?? [] }

    func unfinished(of user: User) -> [EngineSession] {
        (users[user]?.unfinished ?? []).sorted().compactMap { entries[$0] }
    }

    /// Whether the user has enough newer sessions in memory that can rest.
    func isSurplus(_ key: SessionKey) -> Bool { surplus(of: key.user).contains(key) }

    private func surplus(of user: User) -> ArraySlice<SessionKey> {
        (users[user]?.resting ?? []).dropLast(UserLimit.restingSessions)
    }
}
