import Bus
import OrderedCollections
import Workouts

/// The latest finished workouts of each user, made of `workout` messages: in memory as in the store.
///
/// Messages may come in any order and any number of times: the newest revision of a workout counts, and none of the 100
/// deleted last comes back. After a loss the broker's retained messages fill it again.
struct WorkoutIndex {
    private struct Entry {
        var workouts: [SessionID: WorkoutTotals] = [:]
        /// The sessions deleted last, whose retained record may still come.
        var deleted: OrderedSet<SessionID> = []
        /// The user deleted everything then.
        var erasedAt: Int64 = -1
    }

    /// Workouts of one user, of which the one that began first goes first, and deleted sessions.
    static let limit = 100

    private let limit: Int
    private var entries: [User: Entry] = [:]

    init(limit: Int = Self.limit) {
        self.limit = limit
    }

    func workouts(of user: User) -> [SessionID: WorkoutTotals] { entries[user]?.workouts ?? [:] }

    /// Takes a stored record. One that is newer, or deleted, may have come before it.
    mutating func load(_ key: SessionKey, _ stored: WorkoutTotals) { _ = receive(key, stored) }

    /// Takes the record of a finished workout.
    mutating func receive(_ key: SessionKey, _ totals: WorkoutTotals) -> [RecordChange] {
        var entry = entries[key.user] ?? Entry()
        guard totals.revision > entry.workouts[key.session]?.revision ?? -1, !entry.deleted.contains(key.session),
            totals.revision > entry.erasedAt
        else { return [] }
        entry.workouts[key.session] = totals
        var changes = [RecordChange.put(.workouts, "\(key)", totals)]
        if entry.workouts.count > limit,
            let first = entry.workouts.min(by: { ($0.value.began, $0.key) < ($1.value.began, $1.key) })?.key
        {
            entry.workouts[first] = nil
            changes = (first == key.session ? [] : changes) + [.delete(.workouts, "\(SessionKey(key.user, first))")]
        }
        entries[key.user] = entry
        return changes
    }

    /// A session was deleted.
    mutating func delete(_ key: SessionKey) -> [RecordChange] {
        var entry = entries[key.user] ?? Entry()
        defer { entries[key.user] = entry }
        entry.deleted.append(key.session)
        if entry.deleted.count > Self.limit { entry.deleted.removeFirst() }
        guard entry.workouts.removeValue(forKey: key.session) != nil else { return [] }
        return [.delete(.workouts, "\(key)")]
    }

    /// A user deleted everything.
    mutating func erase(_ user: User, at time: Timestamp) -> [RecordChange] {
        var entry = entries[user] ?? Entry()
        entry.erasedAt = max(entry.erasedAt, time.milliseconds)
        let erased = entry.workouts.filter { $0.value.revision <= entry.erasedAt }.keys
        for session in erased { entry.workouts[session] = nil }
        entries[user] = entry
        return erased.map { .delete(.workouts, "\(SessionKey(user, $0))") }
    }
}

extension WorkoutTotals {
    /// The start, for sorting; a workout without any time is the oldest.
    var began: Timestamp { startedAt ?? endedAt ?? Timestamp(microseconds: 0) }
}
