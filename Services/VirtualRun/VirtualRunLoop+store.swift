import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Timing
import Workouts

/// What the loop reads of the store: all that is not at rest when it gains shards, runs at rest when a message is about
/// them, and pages of the list of runs.
extension VirtualRunLoop {
    /// Records of one read.
    private static let pageSize = 200
    /// Seconds between two shards whose old runs are removed: each has its turn once a day.
    private static let agingInterval = 86_400.0 / 256

    mutating func load(_ shards: Set<Shard>, _ now: Moment) async throws {
        try await loadKey()
        if !hasKey, let key = HidingKey(newKey), outbox.owns(RunRecord.hidingKey.shard) {
            machine.hidingKey = key
            outbox.add([.saveKey(newKey)])
        }
        for record in try await store.records(in: RunRecord.people, shards: shards) {
            guard let user = User(record.key), let person: PersonRecord = read(record, now) else { continue }
            machine.people[user] = person
        }
        for record in try await store.records(in: RunRecord.invitations, shards: shards) {
            guard let user = User(record.key), var tally: InvitationTally = read(record, now) else { continue }
            tally.limit(to: now)
            machine.invitations.load(tally, of: user, in: record.shard)
        }
        for record in try await store.records(in: RunRecord.cleared, shards: shards) {
            let names = record.key.split(separator: "/")
            guard names.count == 2, let run = RunID(String(names[0])), let user = User(String(names[1])),
                let time: Moment = read(record, now)
            else { continue }
            machine.cleared.add(user, in: run, at: time.atMost(now))
        }
        for record in try await store.records(in: RunRecord.replies, shards: shards) {
            guard let user = User(String(record.key.prefix { $0 != "/" })), let reply: Reply = read(record, now)
            else { continue }
            machine.replies.load(reply, of: record.shard, to: user)
        }
        for shard in shards.sorted() {
            try await eachRun(in: shard, now) { record, loop throws in
                loop.runners.formUnion(record.run.people)
                loop.ghostOwners.formUnion(record.run.ghosts.compactMap(\.owner))
                if !record.isAtRest { try await loop.load(record, now) }
            }
        }
        outbox.add(machine.applyBlocks(of: shards, now))
        // Retained views come again with the gain.
        standings = [:]
        meet(try await store.records(in: RunRecord.meetings, shards: Set(outbox.epochs.keys)), now)
        context.logger.info("runs loaded", metadata: [LogKey.count: "\(machine.entries.count)"])
    }

    /// Reads the key that hides homes, which the owner of its shard draws.
    mutating func loadKey() async throws {
        // Another replica may have saved its own meanwhile.
        let stored = try await store.records(in: RunRecord.keys, at: [RunRecord.hidingKey]).first
        guard let key = stored.flatMap({ HidingKey($0.value) }) else { return }
        (machine.hidingKey, hasKey) = (key, true)
    }

    mutating func eachRun(
        in shard: Shard, _ now: Moment, _ body: (RunRecord, inout Self) async throws -> Void
    ) async throws {
        var rest: StoreRange? = StoreRange(shard: shard)
        while let range = rest {
            let page = try await store.records(in: RunRecord.runs, of: range, limit: Self.pageSize)
            for stored in page {
                if let record: RunRecord = read(stored, now) { try await body(record, &self) }
            }
            rest = page.last.map { range.after($0.key) }
        }
    }

    /// Loads a run with its curves.
    mutating func load(_ record: RunRecord, _ now: Moment) async throws {
        let id = record.run.id
        guard machine.entries[id] == nil else { return }
        let key = StoreKey(shard: id.shard, key: "\(id)")
        let live: LiveRun.Stored? = try await store.records(in: RunRecord.live, at: [key]).first
            .flatMap { read($0, now) }
        let curves: [User: RunCurve]? = try await store.records(in: RunRecord.curves, at: [key]).first
            .flatMap { read($0, now) }
        var finals: [Runner: FinalRecord] = [:]
        let folder = StoreFolder(shard: id.shard, path: "\(id)")
        for record in try await store.records(in: RunRecord.finals, below: [folder]) {
            if let runner = Runner(key: record.key), let final: FinalRecord = read(record, now) {
                finals[runner] = final
            }
        }
        try await copy(record.run.people, now)
        machine.load(record, live: live ?? LiveRun.Stored(), curves: curves ?? [:], finals: finals, now: now)
    }

    /// Loads the runs at rest that a batch is about.
    mutating func borrow(_ incoming: [RunMessage], _ now: Moment) async throws {
        machine.others.forgetRequests()
        var needed: Set<RunID> = []
        for message in incoming {
            if let run = message.namedRun { needed.insert(run) }
            if let key = message.deleted, runners.contains(key.user), !machine.wants(key) {
                for listing in try await listings(of: key.user, now) where listing.sessions.contains(key.session) {
                    needed.insert(listing.overview.run)
                }
                needed.formUnion(try await ghosts(of: key.user, below: "\(key)"))
            }
        }
        let admitted = admit(incoming, now)
        for (user, request) in admitted {
            if let run = request.run { needed.insert(run) }
            try await borrow(for: request, of: user, now)
        }
        try await borrow(needed, now)
        // The runs with ghosts that their owner withdraws.
        for (user, request) in admitted where request.action.withdrawsGhost {
            guard let run = request.run.flatMap({ machine.entries[$0] })?.run,
                let session = run.participant(user)?.session?.session
            else { continue }
            try await borrow(try await ghosts(of: user, below: "\(SessionKey(user, session))"), now)
        }
    }

    /// The requests of a batch that the rates of their users allow, and that have no reply yet.
    private func admit(_ incoming: [RunMessage], _ now: Moment) -> [(user: User, request: VirtualRunRequest)] {
        var ids: [User: Set<CommandID>] = [:]
        return incoming.compactMap { message in
            guard case .user(let user, .virtualRunRequest) = message.topic,
                case .success(let request)? = message.request, outbox.owns(request.shard(of: user)),
                !machine.isAnswered(request, of: user), ids[user, default: []].insert(request.id).inserted,
                ids[user, default: []].count <= machine.replies.available(to: user, now)
            else { return nil }
            return (user, request)
        }
    }

    /// The runs here in which sessions of a user run along.
    func ghosts(of user: User, below path: String) async throws -> [RunID] {
        let folders = outbox.epochs.keys.sorted().map { StoreFolder(shard: $0, path: path) }
        return try await store.records(in: RunRecord.ghosts, below: folders)
            .compactMap { RunID(String($0.key.suffix(36))) }
    }

    mutating func borrow(_ runs: some Sequence<RunID>, _ now: Moment) async throws {
        let missing = Set(runs).filter { machine.entries[$0] == nil && outbox.owns($0.shard) }.sorted()
        guard !missing.isEmpty else { return }
        let places = missing.map { StoreKey(shard: $0.shard, key: "\($0)") }
        for stored in try await store.records(in: RunRecord.runs, at: places) {
            if let record: RunRecord = read(stored, now) { try await load(record, now) }
        }
    }

    /// The lines of a user's list that runs here have, or all runs.
    func listings(of user: User, _ now: Moment, everywhere: Bool = false) async throws -> [RunListing] {
        let shards = everywhere ? Array(Shard.all) : outbox.epochs.keys.sorted()
        let folders = shards.map { StoreFolder(shard: $0, path: "\(user)") }
        return try await store.records(in: RunRecord.listings, below: folders).compactMap { read($0, now) }
    }

    // MARK: Lists

    /// Reads a page of a user's runs and replies.
    mutating func list(_ query: RunsQuery, _ user: User, _ envelope: Command.Envelope, _ now: Moment) async throws {
        guard let client = envelope.client else { return }
        let ranges = Shard.all.map { shard in
            var range = StoreRange(StoreFolder(shard: shard, path: "\(user)"), isDescending: true)
            if let before = query.before {
                let end = max(range.keys.lowerBound, "\(user)/\(RunListing.text(before))")
                range.keys = range.keys.lowerBound..<min(range.keys.upperBound, end)
            }
            return range
        }
        let records = try await store.records(in: RunRecord.listings, of: ranges, limit: query.limit)
        var reply = Reply(id: envelope.id, revision: nil, now: now.wallClock)
        reply.runs = records.sorted { $0.key > $1.key }.prefix(query.limit).compactMap { record in
            let listing: RunListing? = read(record, now)
            return listing?.overview
        }
        await context.send(reply.messages(to: user, client))
        metrics.answered(nil)
    }

    // MARK: Deletion

    /// Removes what the accounts that a batch deleted had part in.
    mutating func erase(_ now: Moment) async throws {
        for user in erasing.sorted() {
            guard runners.contains(user) || outbox.owns(user.shard) else {
                erasing.remove(user)
                continue
            }
            let listed = try await listings(of: user, now)
            try await borrow(listed.map(\.overview.run) + ghosts(of: user, below: "\(user)"), now)
            outbox.add(machine.erase(user, listed: listed, now: now))
            erasing.remove(user)
        }
    }

    /// Removes runs that are older than their lifetime, one shard at a time.
    mutating func age(_ now: Moment) async throws {
        guard agedAt.map({ now.seconds(since: $0) >= Self.agingInterval }) ?? true else { return }
        machine.forgetPeople()
        if aging.isEmpty { aging = outbox.epochs.keys.sorted() }
        aging.removeAll { !outbox.owns($0) }
        guard let shard = aging.last else { return }
        try await eachRun(in: shard, now) { record, loop throws in
            let erased = loop.machine.erasedPeople(of: record.run)
            guard loop.machine.isExpired(record.run, now) || !erased.isEmpty else { return }
            // The next sweep removes what is too old.
            try await loop.load(record, now)
            loop.erasing.formUnion(erased)
        }
        outbox.add(machine.forgetInvitations(in: shard, now) + machine.forgetCleared(in: shard, now))
        aging.removeLast()
        agedAt = now
    }

    func read<Value: Decodable>(_ record: StoreRecord, _ now: Moment) -> Value? {
        do throws(PayloadError) {
            return try JSONCoding.decode(Value.self, from: record.value, now: now)
        } catch {
            context.logger.error("corrupt record ignored", metadata: [LogKey.record: "\(record.key)"])
            return nil
        }
    }
}

extension VirtualRunRequest.Action {
    /// Whether the user may share the own session as a ghost no longer.
    fileprivate var withdrawsGhost: Bool {
        switch self {
        case .share(let change): change.ghost == false
        case .leave: true
        default: false
        }
    }
}

extension RunRecord {
    /// Whether nothing happens in the run any more without a request or a later record.
    fileprivate var isAtRest: Bool { run.status.isOver && views.values.allSatisfy(\.isCleared) }
}

extension Runner {
    /// The runner of a key of ``RunRecord/finals``.
    fileprivate init?(key: String) {
        let name = String(key.drop { $0 != "/" }.dropFirst())
        if name.hasPrefix("."), let number = Int(name.dropFirst()) {
            self = .ghost(number)
        } else if let user = User(name) {
            self = .participant(user)
        } else {
            return nil
        }
    }
}
