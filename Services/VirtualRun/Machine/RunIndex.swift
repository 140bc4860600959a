import Bus
import Workouts

/// Finds the runs in memory by their people and sessions.
struct RunIndex {
    /// Those in which each user has a part.
    private var taken: [User: Set<RunID>] = [:]
    /// Those in which a session of each user runs along.
    private var haunted: [User: Set<RunID>] = [:]
    /// Those that are not over, by participant.
    private var open: [User: Set<RunID>] = [:]
    /// Those of sessions: of participants, and those that ghosts repeat.
    private var bySession: [SessionKey: Set<RunID>] = [:]
    private var haveFollowedChanged = false

    /// The participants of runs that are not over: their live metrics are subscribed to.
    var followed: [User] { open.keys.sorted() }

    /// Whether ``followed`` may differ from the last call.
    mutating func takeFollowedChange() -> Bool {
        defer { haveFollowedChanged = false }
        return haveFollowedChanged
    }

    func runs(of user: User) -> Set<RunID> { taken[user] ?? [] }

    /// Those of the user, and those with a ghost of the user.
    func all(of user: User) -> [RunID] { runs(of: user).union(haunted[user] ?? []).sorted() }

    func runs(with key: SessionKey) -> Set<RunID> { bySession[key] ?? [] }

    func knows(_ key: SessionKey) -> Bool { bySession[key] != nil }

    func knows(_ user: User) -> Bool { taken[user] != nil || haunted[user] != nil }

    /// Follows a change of a run; `before` is `nil` for one that is new in memory, `now` for one that leaves it.
    mutating func update(_ id: RunID, before: Run?, now: Run?) {
        taken.move(id, before.map { Set($0.participants.map(\.user)) }, now.map { Set($0.participants.map(\.user)) })
        haunted.move(id, before.map(\.ghostOwners), now.map(\.ghostOwners))
        bySession.move(id, before?.sessionKeys, now?.sessionKeys)
        let (left, right) = (before?.followed ?? [], now?.followed ?? [])
        guard left != right else { return }
        let (gone, new) = (left.subtracting(right), right.subtracting(left))
        if new.contains(where: { open[$0] == nil }) { haveFollowedChanged = true }
        open.move(id, left, right)
        if gone.contains(where: { open[$0] == nil }) { haveFollowedChanged = true }
    }
}

extension Run {
    fileprivate var ghostOwners: Set<User> { Set(ghosts.compactMap(\.owner)) }
    /// The users whose live metrics matter to it.
    fileprivate var followed: Set<User> { status.isOver ? [] : Set(participants.map(\.user)) }
}

extension Dictionary where Value == Set<RunID> {
    /// Moves a run from some keys to others.
    fileprivate mutating func move(_ id: RunID, _ before: Set<Key>?, _ now: Set<Key>?) {
        let (before, now) = (before ?? [], now ?? [])
        for key in before.subtracting(now) {
            self[key]?.remove(id)
            if self[key]?.isEmpty ?? false { self[key] = nil }
        }
        for key in now.subtracting(before) { self[key, default: []].insert(id) }
    }
}
