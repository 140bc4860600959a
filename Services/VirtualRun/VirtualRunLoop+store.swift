import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

/// What the loop reads of the store: all that is not at rest when it gains shards, runs at rest when a message is about
/// them, and pages of the list of runs.
extension VirtualRunLoop {
    /// Records of one read.
    private static let pageSize = 200
    /// Seconds between two shards whose old runs are removed: each has its turn once a day.
    private static let agingInterval = 86_400.0 / 256

    mutating func load(_ shards: Set<Shard>, _ now: Moment) async throws {
        // Another replica may have saved its own meanwhile.
        let stored = try await store.records(in: RunRecord.keys, at: [RunRecord.hidingKey]).first
        if let key = stored.flatMap({ HidingKey($0.value) }) {
            machine.hidingKey = key
        } else if let key = HidingKey(newKey), shards.contains(RunRecord.hidingKey.shard) {
            machine.hidingKey = key
            outbox.add([.saveKey(newKey)])
        }
        for record in try await store.records(in: RunRecord.people, shards: shards) {
            guard let user = User(record.key), var person: PersonRecord = read(record, now) else { continue }
            person.limit(to: now)
            machine.people[user] = person
        }
        for record in try await store.records(in: RunRecord.replies, shards: shards) {
            guard let user = User(String(record.key.prefix { $0 != "/" })), let reply: Reply = read(record, now)
            else { continue }
            machine.load(reply, of: user, in: record.shard)
        }
        for shard in shards.sorted() {
            try await eachRun(in: shard, now) { record, loop throws in
                if !record.isAtRest { try await loop.load(record, now) }
            }
        }
        context.logger.info("runs loaded", metadata: [LogKey.count: "\(machine.entries.count)"])
    }

    private mutating func eachRun(
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
    private mutating func load(_ record: RunRecord, _ now: Moment) async throws {
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
        machine.load(record, live: live ?? LiveRun.Stored(), curves: curves ?? [:], finals: finals, now: now)
    }

    /// Loads the runs at rest that a batch is about.
    mutating func borrow(_ incoming: [Incoming], _ now: Moment) async throws {
        var needed: Set<RunID> = []
        for message in incoming {
            if let run = message.namedRun { needed.insert(run) }
            if let key = message.deleted, !machine.wants(key) {
                for listing in try await listings(of: key.user, now) where listing.sessions.contains(key.session) {
                    needed.insert(listing.overview.run)
                }
                needed.formUnion(try await ghosts(of: key.user, below: "\(key)"))
            }
            guard case .user(_, .virtualRunRequest) = message.topic, case .success(let request)? = message.request
            else {
                continue
            }
            if let run = request.run { needed.insert(run) }
            guard case .create(let proposal) = request.action else { continue }
            for case .session(let owner?, let session) in proposal.ghosts
            where !machine.wants(SessionKey(owner, session)) {
                for listing in try await listings(of: owner, now) where listing.sessions.contains(session) {
                    needed.insert(listing.overview.run)
                }
            }
        }
        try await borrow(needed, now)
        try await borrowWithdrawn(incoming, now)
    }

    /// Loads the runs with ghosts that their owner withdraws.
    private mutating func borrowWithdrawn(_ incoming: [Incoming], _ now: Moment) async throws {
        for message in incoming {
            guard case .user(let user, .virtualRunRequest)? = message.topic,
                case .success(let request)? = message.request, request.action.withdrawsGhost,
                let session = request.run.flatMap({ machine.entries[$0] })?.run.participant(user)?
                    .session?.session
            else { continue }
            try await borrow(try await ghosts(of: user, below: "\(SessionKey(user, session))"), now)
        }
    }

    /// The runs in which sessions of a user run along.
    private func ghosts(of user: User, below path: String) async throws -> [RunID] {
        guard outbox.owns(user.shard) else { return [] }
        return try await store.records(in: RunRecord.ghosts, below: [StoreFolder(shard: user.shard, path: path)])
            .compactMap { RunID(String($0.key.suffix(36))) }
    }

    private mutating func borrow(_ runs: some Sequence<RunID>, _ now: Moment) async throws {
        let missing = Set(runs).filter { machine.entries[$0] == nil && outbox.owns($0.shard) }.sorted()
        guard !missing.isEmpty else { return }
        let places = missing.map { StoreKey(shard: $0.shard, key: "\($0)") }
        for stored in try await store.records(in: RunRecord.runs, at: places) {
            if let record: RunRecord = read(stored, now) { try await load(record, now) }
        }
    }

    /// All lines of a user's list, the newest first.
    private mutating func listings(of user: User, _ now: Moment) async throws -> [RunListing] {
        guard outbox.owns(user.shard) else { return [] }
        return try await store.records(in: RunRecord.listings, below: [StoreFolder(shard: user.shard, path: "\(user)")])
            .compactMap { read($0, now) }
    }

    // MARK: Lists

    /// Reads a page of a user's runs and replies.
    mutating func list(_ query: RunsQuery, _ user: User, _ envelope: Command.Envelope, _ now: Moment) async throws {
        guard let client = envelope.client else { return }
        var range = StoreRange(StoreFolder(shard: user.shard, path: "\(user)"), isDescending: true)
        if let before = query.before {
            let end = max(range.keys.lowerBound, "\(user)/\(RunListing.text(before))")
            range.keys = range.keys.lowerBound..<min(range.keys.upperBound, end)
        }
        var runs: [RunOverview] = []
        for record in try await store.records(in: RunRecord.listings, of: range, limit: query.limit) {
            if let listing: RunListing = read(record, now) { runs.append(listing.overview) }
        }
        var reply = Reply(id: envelope.id, revision: nil, now: now.wallClock)
        reply.runs = runs
        await context.send(reply.messages(to: user, client))
        metrics.answered(nil)
    }

    // MARK: Deletion

    /// Removes what the accounts that a batch deleted had part in.
    mutating func erase(_ now: Moment) async throws {
        for user in erasing.sorted() {
            let listed = try await listings(of: user, now)
            try await borrow(listed.map(\.overview.run) + ghosts(of: user, below: "\(user)"), now)
            outbox.add(machine.erase(user, listed: listed, now: now))
            erasing.remove(user)
        }
    }

    /// Removes runs that are older than their lifetime, one shard at a time.
    mutating func age(_ now: Moment) async throws {
        guard agedAt.map({ now.seconds(since: $0) >= Self.agingInterval }) ?? true else { return }
        agedAt = now
        if aging.isEmpty { aging = outbox.epochs.keys.sorted() }
        guard let shard = aging.popLast(), outbox.owns(shard) else { return }
        try await eachRun(in: shard, now) { record, loop throws in
            guard loop.machine.isExpired(record.run, now) else { return }
            // The next sweep removes it.
            try await loop.load(record, now)
        }
    }

    private func read<Value: Decodable>(_ record: StoreRecord, _ now: Moment) -> Value? {
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
