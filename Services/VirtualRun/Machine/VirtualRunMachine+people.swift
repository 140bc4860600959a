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
        case .addContact(let other): try person.contacts.add(other, unless: user)
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
            for id in allRuns(of: user) { actions += try applyBlocks(to: id, now) }
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

    /// Makes two users each other's contacts, as far as their lists have room. A blocked user becomes no contact.
    mutating func befriend(_ user: User, _ host: User, _ now: Moment) -> [VirtualRunAction] {
        [(user, host), (host, user)].flatMap { own, other -> [VirtualRunAction] in
            var person = people[own] ?? PersonRecord()
            guard !person.blocked.contains(other), (try? person.contacts.add(other, unless: own)) != nil else {
                return []
            }
            return set(person, of: own, now)
        }
    }

    /// Repeats in a run who of its people blocks whom.
    mutating func applyBlocks(to id: RunID, _ now: Moment) throws(Refusal) -> [VirtualRunAction] {
        let people = people
        let actions = try change(id, now) { run throws(Refusal) in run.setBlocks { people[$0]?.blocked ?? [] } }
        return actions.isEmpty ? [] : actions + revise(id, now)
    }

    // MARK: Profiles and deletion

    /// Takes in a user's profile. Returns whether the user deleted everything since the last one.
    mutating func receive(_ profile: RunnerProfile, of user: User, now: Moment) -> Bool {
        let known = profiles.updateValue(profile, forKey: user)
        if known?.units != profile.units || known?.maximumHeartRate != profile.maximumHeartRate {
            for id in runs[user] ?? [] {
                refresh(id, now)
                look(id)
            }
        }
        guard let erasedAt = profile.erasedAt else { return false }
        return (people[user]?.erasedAt ?? Timestamp(microseconds: .min)) < erasedAt
    }

    /// Removes a user's part of all runs in memory that the user joined before the deletion, and the user's record.
    ///
    /// - Parameter listed: the user's lines in the list of runs; their runs are in memory.
    mutating func erase(_ user: User, listed: [RunListing], now: Moment) -> [VirtualRunAction] {
        guard let erasedAt = profiles[user]?.erasedAt else { return [] }
        var actions: [VirtualRunAction] = []
        var clearedAt = people[user]?.clearedAt ?? [:]
        for id in allRuns(of: user) {
            guard let entry = entries[id], entry.run.createdAt <= erasedAt else { continue }
            if entry.record.views[user]?.isCleared == false { clearedAt[id] = now }
            actions += (try? change(id, by: user, now) { run throws(Refusal) in run.erase(user, now: now) }) ?? []
            actions += forget(user, in: id)
            if entries[id]?.run.isDeserted ?? false { actions += purge(id) }
        }
        let hadPeople = (people[user]?.topic.revision ?? 0) > 0
        people[user] = PersonRecord(erasedAt: erasedAt, invitationsOf: people[user])
        people[user]?.clearedAt = clearedAt.isEmpty ? nil : clearedAt
        actions.append(.savePerson(user))
        if hadPeople { actions.append(.publishPeople(user)) }
        for reply in replies[user] ?? [] where reply.reply.now <= erasedAt {
            actions.append(.eraseReplies(reply.shard, user, [reply.reply.id]))
        }
        replies[user]?.removeAll { $0.reply.now <= erasedAt }
        let gone = listed.filter { $0.overview.createdAt <= erasedAt }
        return actions + gone.map { .unlist(user, $0) } + reviseDue(now)
    }

    /// Clears the `partners` of a deleted account again: they have QoS 0, and a broker that restarts restores old ones.
    mutating func clearPartners(of user: User, _ now: Moment) -> [VirtualRunAction] {
        guard let cleared = people[user]?.clearedAt else { return [] }
        let recent = cleared.filter { now.seconds(since: $0.value) < RetainedTopic.lifetime }
        for id in recent.keys.sorted() { send(Topic.user(user, .partners(id)).message([]), of: user.shard) }
        guard recent.count < cleared.count else { return [] }
        people[user]?.clearedAt = recent.isEmpty ? nil : recent
        return [.savePerson(user)]
    }

    /// The runs of the user and those with a ghost of the user.
    private func allRuns(of user: User) -> [RunID] {
        sessions.filter { $0.key.user == user }.values.reduce(into: runs[user] ?? []) { $0.formUnion($1) }.sorted()
    }

    /// Removes what a run keeps of a user besides its own facts, and clears the user's topics.
    private mutating func forget(_ user: User, in id: RunID) -> [VirtualRunAction] {
        guard entries[id] != nil else { return [] }
        entries[id]?.record.workouts[user] = nil
        entries[id]?.finals[.participant(user)] = nil
        entries[id]?.record.views[user] = nil
        entries[id]?.pendingViews[user] = nil
        send(Topic.user(user, .partners(id)).message([]), of: id.shard)
        return [.save(id), .saveLive(id), .saveFinal(id, .participant(user)), .publishView(id, user)]
            + forgetGhosts(in: id)
    }
}

extension PersonRecord {
    /// A deletion gives no new invitations for the day.
    fileprivate init(erasedAt: Timestamp, invitationsOf known: PersonRecord?) {
        self.init()
        self.erasedAt = erasedAt
        invitations = known?.invitations ?? 0
        invitingSince = known?.invitingSince
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
