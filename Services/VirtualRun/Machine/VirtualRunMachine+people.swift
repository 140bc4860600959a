import Bus
import ServiceKit
import Workouts

/// Contacts, blocked users, and the deletion of an account.
extension VirtualRunMachine {
    mutating func performOnPeople(
        _ request: VirtualRunRequest, _ user: User, _ now: Moment
    ) throws(Refusal) -> [VirtualRunAction] {
        let before = people[user] ?? PersonRecord()
        var person = before
        switch request.action {
        case .runs(let query): return [.listRuns(user, request.envelope, query)]
        case .addContact(let other):
            if let refusal = refusal(ofInvitationsTo: [other]) { throw refusal }
            try person.contacts.add(other, unless: user)
        case .removeContact(let other): person.contacts.removeAll { $0 == other }
        case .block(let other):
            try person.blocked.add(other, unless: user)
            person.contacts.removeAll { $0 == other }
        case .unblock(let other): person.blocked.removeAll { $0 == other }
        case .setInvites(let from): person.invitesFrom = from
        default: preconditionFailure("\(request.action.name) is about a run")
        }
        var actions = set(person, of: user, now)
        if person.blocked != before.blocked {
            for id in index.all(of: user) { actions += try applyBlocks(to: id, now) }
        }
        return actions + accept(request, user, now)
    }

    /// Replaces a user's record; publishes it if it changed.
    private mutating func set(_ person: PersonRecord, of user: User, _ now: Moment) -> [VirtualRunAction] {
        var person = person
        guard person != people[user] ?? PersonRecord() else { return [] }
        person.topic.revise(now.wallClock)
        people[user] = person
        return [.savePerson(user), .publishPeople(user)]
    }

    /// Makes two users each other's contacts. The owners of their shards do it: others, once their view of the run shows it.
    mutating func befriend(_ user: User, _ host: User, in id: RunID, _ now: Moment) -> [VirtualRunAction] {
        [(user, host), (host, user)].flatMap { own, other -> [VirtualRunAction] in
            others.own(own)
                ? [.saveMeeting(own, RunMeeting(run: id, user: other, at: now.wallClock))]
                : addContact(other, to: own, now)
        }
    }

    /// Adds a contact as far as the list has room. A blocked user becomes no contact.
    private mutating func addContact(_ other: User, to own: User, _ now: Moment) -> [VirtualRunAction] {
        var person = people[own] ?? PersonRecord()
        guard !person.blocked.contains(other), (try? person.contacts.add(other, unless: own)) != nil else { return [] }
        return set(person, of: own, now)
    }

    /// Makes the contact of a meeting in a run of another replica, once: a contact that the user removed stays removed.
    mutating func meet(_ meeting: RunMeeting, of user: User, _ now: Moment) -> [VirtualRunAction] {
        var person = people[user] ?? PersonRecord()
        guard person.meet(meeting) else { return [] }
        people[user] = person
        return addContact(meeting.user, to: user, now) + [.savePerson(user)]
    }

    /// Whom a user blocks; `nil` if that is not known here.
    func blocked(by user: User) -> [User]? {
        people[user]?.blocked ?? (others.own(user) ? nil : [])
    }

    /// Copies the blocks between a run's people into the run.
    mutating func applyBlocks(to id: RunID, _ now: Moment) throws(Refusal) -> [VirtualRunAction] {
        guard let people = entries[id]?.run.people else { return [] }
        let known = people.reduce(into: [User: [User]]()) { $0[$1] = blocked(by: $1) }
        let actions = try change(id, now) { run throws(Refusal) in run.setBlocks { known[$0] } }
        return actions.isEmpty ? [] : actions + revise(id, now)
    }

    /// Copies what the owner of another shard says of a user who has a part in runs here.
    mutating func copy(_ person: RunPeople?, of user: User, _ now: Moment) -> [VirtualRunAction] {
        let runs = index.all(of: user)
        guard !runs.isEmpty else { return [] }
        var copy = PersonRecord()
        if let person {
            // What the loop read of the store may be newer.
            if let known = people[user], known.topic.revision > person.revision {
                copy = known
            } else {
                (copy.contacts, copy.blocked) = (person.contacts, person.blocked)
                copy.invitesFrom = person.invitesFrom
                copy.topic.raise(to: person.revision)
            }
        }
        people[user] = copy
        return runs.flatMap { (try? applyBlocks(to: $0, now)) ?? [] }
    }

    /// Copies the blocks of people whose records the loop has just read into their runs.
    mutating func applyBlocks(of shards: Set<Shard>, _ now: Moment) -> [VirtualRunAction] {
        let ids = entries.filter { entry in entry.value.run.people.contains { shards.contains($0.shard) } }.keys
            .sorted()
        return ids.flatMap { (try? applyBlocks(to: $0, now)) ?? [] }
    }

    /// Forgets copies of users who have no part in runs here.
    mutating func forgetPeople() {
        people = people.filter { !others.own($0.key) || index.knows($0.key) }
    }

    // MARK: Profiles and deletion

    /// Seconds after a deletion in which its profile removes what is left in runs. The daily look at all runs does it later.
    private static let erasing = 86_400.0

    /// Takes in a user's profile. Returns whether the user deleted everything, and something may be left.
    mutating func receiveProfile(_ profile: RunnerProfile, of user: User, now: Moment) -> Bool {
        let known = profiles.updateValue(profile, forKey: user)
        if known?.units != profile.units || known?.maximumHeartRate != profile.maximumHeartRate {
            for id in index.runs(of: user) {
                refresh(id, now)
                look(id)
            }
        }
        guard let erasedAt = profile.erasedAt else { return false }
        return isErased(user, by: erasedAt) == false || now.wallClock.seconds(since: erasedAt) < Self.erasing
    }

    /// Whether the user's record says that a deletion was applied; `nil` if another replica has it.
    private func isErased(_ user: User, by erasedAt: Timestamp) -> Bool? {
        guard !others.own(user) else { return nil }
        return (people[user]?.erasedAt ?? Timestamp(microseconds: .min)) >= erasedAt
    }

    /// Those who deleted everything after a run was made.
    func erasedPeople(of run: Run) -> Set<User> {
        run.people.filter { user in profiles[user]?.erasedAt.map { run.has(user, before: $0) } ?? false }
    }

    /// Removes a user's part of all runs in memory that the user joined before the deletion, and the user's record.
    ///
    /// - Parameter listed: the user's lines in the list of runs; their runs are in memory.
    mutating func erase(_ user: User, listed: [RunListing], now: Moment) -> [VirtualRunAction] {
        guard let erasedAt = profiles[user]?.erasedAt else { return [] }
        var actions: [VirtualRunAction] = []
        for id in index.all(of: user) {
            guard let entry = entries[id], entry.run.has(user, before: erasedAt) else { continue }
            if entry.record.views[user]?.isCleared == false {
                cleared.add(user, in: id, at: now)
                actions.append(.saveCleared(id, user))
            }
            actions += (try? change(id, by: user, now) { run throws(Refusal) in run.erase(user, now: now) }) ?? []
            actions += forget(user, in: id)
            if entries[id]?.run.isDeserted ?? false { actions += purge(id) }
        }
        if isErased(user, by: erasedAt) == false {
            let hadPeople = (people[user]?.topic.revision ?? 0) > 0
            people[user] = PersonRecord()
            people[user]?.erasedAt = erasedAt
            actions.append(.savePerson(user))
            if hadPeople { actions.append(.publishPeople(user)) }
        }
        actions += replies.erase(user, until: erasedAt).map { .eraseReplies($0.shard, user, [$0.reply.id]) }
        let gone = listed.filter { entries[$0.overview.run]?.run.participant(user) == nil }
        return actions + gone.map { .unlist(user, $0) } + reviseDue(now)
    }

    /// Clears the `partners` of deleted accounts again.
    mutating func clearPartners(of id: RunID, _ now: Moment) -> [VirtualRunAction] {
        let users = cleared.advance(id, now)
        for user in users.due { send(Topic.user(user, .partners(id)).message([]), of: id.shard) }
        return users.gone.map { .saveCleared(id, $0) }
    }

    /// Forgets what no connect clears any more.
    mutating func forgetCleared(in shard: Shard, _ now: Moment) -> [VirtualRunAction] {
        cleared.runs(in: [shard]).flatMap { clearPartners(of: $0, now) }
    }

    /// Removes what a run keeps of a user besides its own facts, and clears the user's topics.
    private mutating func forget(_ user: User, in id: RunID) -> [VirtualRunAction] {
        guard entries[id] != nil else { return [] }
        entries[id]?.record.workouts[user] = nil
        entries[id]?.finals[.participant(user)] = nil
        entries[id]?.record.views[user] = nil
        entries[id]?.pendingViews[user] = nil
        send(Topic.user(user, .partners(id)).message([]), of: id.shard)
        return [
            .save(id), .saveLive(id), .saveFinal(id, .participant(user)), .eraseMeetings(id, user),
            .publishView(id, user),
        ]
            + forgetGhosts(in: id)
    }
}

extension [User] {
    /// Adds another user, once.
    fileprivate mutating func add(_ other: User, unless own: User) throws(Refusal) {
        guard other != own else { throw .invalidCommand("user: another one than yourself") }
        guard !contains(other) else { return }
        guard count < RunPeople.limit else { throw .peopleLimit }
        append(other)
    }
}
