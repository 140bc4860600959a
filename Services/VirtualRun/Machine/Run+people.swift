import Bus
import ServiceKit
import Workouts

/// Blocks, ghosts that go, and deleted accounts.
extension Run {
    /// A run made for two becomes a group: each shares position, route and ghost again in person.
    mutating func openToGroup() {
        guard isForTwo else { return }
        isForTwo = false
        for index in participants.indices {
            participants[index].sharing.apply(Sharing.Change(position: false, route: false, ghost: false))
        }
    }

    /// Sets who blocks whom. The machine repeats it after an invitation: only people in the run are kept.
    ///
    /// - Parameter blocked: whom a user blocks; `nil` leaves it as it is.
    mutating func setBlocks(_ blocked: (User) -> [User]?) {
        let people = people
        let known = blocks
        blocks = people.sorted().flatMap { user in
            let others = blocked(user) ?? known.filter { $0.by == user }.map(\.of)
            return others.filter { people.contains($0) }.sorted().map { RunBlock(by: user, of: $0) }
        }
    }

    /// Participants and owners of ghosts.
    var people: Set<User> { Set(participants.map(\.user) + ghosts.compactMap(\.owner)) }

    /// Removes the ghosts of a deleted or withdrawn session, or all of a user.
    mutating func removeGhosts(of owner: User, session: SessionID? = nil, now: Moment) {
        let before = ghosts.count
        ghosts.removeAll { $0.owner == owner && (session == nil || $0.session == session) }
        if ghosts.count != before { settle(now) }
    }

    /// Whether the run has something of a user from before a deletion of everything.
    func has(_ user: User, before erasedAt: Timestamp) -> Bool {
        guard createdAt <= erasedAt else { return false }
        if let participant = participant(user), participant.invitedAt <= erasedAt { return true }
        return creator == user || ghosts.contains { $0.owner == user }
    }

    /// Removes a user whose account is deleted.
    mutating func erase(_ user: User, now: Moment) {
        ghosts.removeAll { $0.owner == user }
        blocks.removeAll { $0.by == user || $0.of == user }
        if creator == user {
            creator = nil
            settings.name = nil
        }
        if let gone = participant(user) {
            if gone.entry?.sessions.isEmpty == false { erasedRunners += 1 }
            participants.removeAll { $0.user == user }
            if host == user, startsAt == nil, !isRolling, !status.isOver { cancel("deleted", now) }
        }
        if host == user, !passHost(), let next = participants.first(where: \.takesPart) ?? participants.first {
            host = next.user
        }
        for index in participants.indices { participants[index].replaceFrozenHost(user, by: host) }
        settle(now)
    }

    /// Whether all participants declined or were erased: the machine removes the run.
    var isDeserted: Bool { !participants.contains { $0.isRunner } }
}
