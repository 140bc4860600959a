import Bus
import Client
import ServiceKit
import Storage
import Workouts

/// What the loop reads of shards that other replicas own: limits, people, ghosts and contacts.
extension VirtualRunLoop {
    /// Views of others' runs whose standings are kept.
    private static let standingLimit = 50_000

    /// Reads what a request needs of other replicas' shards, and loads the runs here with its ghosts.
    mutating func borrow(for request: VirtualRunRequest, of user: User, _ now: Moment) async throws {
        var users: Set<User> = [user]
        var owners: Set<User> = []
        switch request.action {
        case .create(let proposal):
            users.formUnion(proposal.invite)
            for case .session(let owner?, let session) in proposal.ghosts {
                owners.insert(owner)
                try await borrow(ghost: SessionKey(owner, session), now)
            }
        case .invite(let others): users.formUnion(others)
        case .confirm: break
        default: return
        }
        runners.formUnion(users.union(owners))
        ghostOwners.formUnion(owners)
        guard !machine.others.shards.isEmpty else { return }
        try await copy(users.union(owners), now)
        let shards = machine.others.shards.sorted()
        let folders = users.sorted().flatMap { user in shards.map { StoreFolder(shard: $0, path: "\(user)") } }
        var parts: [User: [RunPart]] = [:]
        for record in try await store.records(in: RunRecord.parts, below: folders) {
            guard let user = User(String(record.key.prefix { $0 != "/" })), let part: RunPart = read(record, now)
            else { continue }
            parts[user, default: []].append(part)
        }
        for user in users { machine.others.contributions[user, default: RunsElsewhere()].parts = parts[user] ?? [] }
        let places = shards.map { StoreKey(shard: $0, key: "\(user)") }
        let tallies: [InvitationTally] = try await store.records(in: RunRecord.invitations, at: places)
            .compactMap { read($0, now) }
        machine.others.contributions[user]?.invitations = tallies.reduce(0) { $0 + $1.count(now) }
    }

    /// Reads the same again for requests whose ghosts have come.
    mutating func borrowForCreations(_ now: Moment) async throws {
        guard !machine.creations.isEmpty, !machine.others.shards.isEmpty, machine.isSweepDue(now) else { return }
        let complete = Set(machine.rows.complete)
        for creation in machine.creations.values where !complete.isDisjoint(with: creation.ghosts.values) {
            try await borrow(for: creation.request, of: creation.user, now)
        }
    }

    /// Reads the runs with a session that a request wants as a ghost.
    private mutating func borrow(ghost key: SessionKey, _ now: Moment) async throws {
        guard !machine.others.shards.isEmpty || !machine.wants(key) else { return }
        let ids = try await listings(of: key.user, now, everywhere: true)
            .filter { $0.sessions.contains(key.session) }.map(\.overview.run)
        try await borrow(ids.filter { outbox.owns($0.shard) }, now)
        var lent: [Run] = []
        for id in Set(ids) where !outbox.owns(id.shard) {
            guard var run = try await storedRun(id, now) else { continue }
            // A block does not wait for a run at rest.
            try await copy(run.people, now)
            run.setBlocks(machine.blocked)
            lent.append(run)
        }
        machine.others.lent[key] = lent
    }

    /// Another replica's run.
    private func storedRun(_ id: RunID, _ now: Moment) async throws -> Run? {
        let stored = try await store.records(in: RunRecord.runs, at: [StoreKey(shard: id.shard, key: "\(id)")]).first
        let record: RunRecord? = stored.flatMap { read($0, now) }
        return record?.run
    }

    /// Does what views of other replicas' runs ask for: contacts of their readers, and ghosts here that end.
    mutating func follow(_ incoming: [RunMessage], _ now: Moment) async throws {
        let seen = incoming.compactMap { message -> (reader: User, view: SeenView)? in
            guard let view = message.view, case .user(let reader, _) = message.topic else { return nil }
            return (reader, view)
        }
        guard !seen.isEmpty else { return }
        try await meet(seen.filter { outbox.owns($0.reader.shard) }, now)
        for (reader, view) in seen where ghostOwners.contains(reader) && view.isWithdrawn(by: reader) {
            guard let participant = try await storedRun(view.run, now)?.participant(reader), !participant.sharesGhost,
                let session = participant.session?.session
            else { continue }
            let key = SessionKey(reader, session)
            try await borrow(try await ghosts(of: reader, below: "\(key)"), now)
            outbox.add(machine.withdrawGhosts(key, now))
        }
    }

    private mutating func meet(_ seen: [(reader: User, view: SeenView)], _ now: Moment) async throws {
        let new = seen.filter {
            standings[RunReader(run: $0.view.run, user: $0.reader)] != $0.view.standing(of: $0.reader)
        }
        guard !new.isEmpty else { return }
        let folders = Set(new.map { StoreFolder(shard: $0.view.run.shard, path: "\($0.view.run)/\($0.reader)") })
        meet(try await store.records(in: RunRecord.meetings, below: Array(folders)), now)
        if standings.count >= Self.standingLimit { standings = [:] }
        for (reader, view) in new {
            standings[RunReader(run: view.run, user: reader)] = view.standing(of: reader)
        }
    }

    /// Makes the contacts of stored meetings whose users are here.
    mutating func meet(_ records: [StoreRecord], _ now: Moment) {
        for record in records {
            let names = record.key.split(separator: "/").map(String.init)
            guard names.count == 3, let run = RunID(names[0]), let user = User(names[1]), let other = User(names[2]),
                outbox.owns(user.shard), let time: Timestamp = read(record, now)
            else { continue }
            outbox.add(machine.meet(RunMeeting(run: run, user: other, at: time), of: user, now))
        }
    }

    /// Reads what others' shards say of some people now.
    mutating func copy(_ users: Set<User>, _ now: Moment) async throws {
        let others = users.filter { !outbox.owns($0.shard) }.sorted()
        guard !others.isEmpty else { return }
        let places = others.map { StoreKey(shard: $0.shard, key: "\($0)") }
        let records = try await store.records(in: RunRecord.people, at: places)
        var copies = others.reduce(into: [User: PersonRecord]()) { $0[$1] = PersonRecord() }
        for record in records {
            if let user = User(record.key), let person: PersonRecord = read(record, now) { copies[user] = person }
        }
        let changed = others.filter { machine.people[$0] != copies[$0] }
        machine.people.merge(copies) { $1 }
        for id in Set(changed.flatMap(machine.index.all)).sorted() {
            outbox.add((try? machine.applyBlocks(to: id, now)) ?? [])
        }
    }
}
