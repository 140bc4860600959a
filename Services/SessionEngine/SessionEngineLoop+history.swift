import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Timing
import Workouts

/// What the loop reads of the store: at the start, for messages about sessions that are not in memory, and for pages of the
/// history. No read depends on the number of sessions that a user has.
extension SessionEngineLoop {
    /// Records of one read.
    static let pageSize = 200

    mutating func load(_ shards: Set<Shard>, _ now: Moment) async throws {
        for record in try await store.records(in: SessionRecord.users, shards: shards) {
            guard let user = User(account: record.key),
                let stored: UserRecord = decodeRecord(record, from: SessionRecord.users)
            else { continue }
            machine.load(stored, of: user)
            if stored.erasing != nil { erasures[user] = Erasure(user) }
        }
        for record in try await store.records(in: SessionRecord.quotas, shards: shards) {
            guard let user = User(record.key), var quota: UserQuota = decodeRecord(record, from: SessionRecord.quotas)
            else { continue }
            quota.limit(to: now)
            machine.quotas[user] = quota
        }
        erasePurged(now)
        for shard in shards.sorted() {
            var rest: StoreRange? = StoreRange(shard: shard)
            while let range = rest {
                let page = try await store.records(in: SessionRecord.sessions, of: range, limit: Self.pageSize)
                for record in page { try await load(record, now) }
                rest = page.last.map { range.after($0.key) }
            }
        }
        try await loadUnreadable(shards)
        context.logger.info("sessions loaded", metadata: [LogKey.count: "\(machine.entries.count)"])
    }

    /// Notes the sessions whose records were set aside and that no other record replaces.
    private mutating func loadUnreadable(_ shards: Set<Shard>) async throws {
        let records = try await store.records(in: SessionRecord.corrupt, shards: shards)
        let lost = Set(records.compactMap { SessionRecord.corruptSession($0.key) }).filter {
            machine.entries[$0] == nil
        }
        let replaced = Set(try await history(lost).map(\.key))
        for key in lost where !replaced.contains("\(key)") { outbox.add(machine.loseRecord(of: key)) }
    }

    private mutating func load(_ record: StoreRecord, _ now: Moment) async throws {
        // What is to be removed is loaded step by step.
        if let user = SessionKey(record.key)?.user, erasures[user] != nil {
            let stored = try? JSONCoding.decode(StoredRevisions.self, from: record.value)
            guard let stored, !machine.isErased(user, revision: stored.revision) else { return }
        }
        guard let session: SessionRecord = decodeRecord(record, from: SessionRecord.sessions) else { return }
        machine.load(session, replies: try await replies(of: session.session.key), now: now)
        newestRevision = max(newestRevision, session.revision)
    }

    private mutating func replies(of key: SessionKey) async throws -> [CommandID: AcceptedReply] {
        let limit = SessionEngineMachine.replyLimit + SessionEngineMachine.endingLimit
        let folder = StoreFolder(shard: key.user.shard, path: "\(key)")
        let records = try await store.records(in: SessionRecord.replies, of: StoreRange(folder), limit: limit)
        var replies: [CommandID: AcceptedReply] = [:]
        for record in records {
            let reply: Reply? = decodeRecord(record, from: SessionRecord.replies)
            if let reply { replies[reply.id] = AcceptedReply(reply) }
        }
        return replies
    }

    // MARK: Sessions that are not in memory

    /// Loads sessions from history that a batch may change. ``giveBack()`` removes those that it did not.
    mutating func borrow(_ incoming: [EngineMessage], _ now: Moment) async throws {
        var needed: Set<SessionKey> = []
        var seen: [SessionKey: [EngineMessage]] = [:]
        for message in incoming where !message.payload.isEmpty {
            switch message.topic {
            case .session(let key, .command): needed.insert(key)
            case .session(let key, .summaryMetrics), .session(let key, .summaryRoute), .session(let key, .weather),
                .session(let key, .state), .session(let key, .profile), .session(let key, .workout):
                seen[key, default: []].append(message)
            case .session(let key, .request):
                let request = try? JSONCoding.decode(SessionRequest.self, from: message.payload)
                if request?.action == .chunks { needed.insert(key) }
            case .user(let user, .viewerRequest):
                guard case .chunks(let session) = try? message.viewerRequest?.get().action else { break }
                needed.insert(SessionKey(user, session))
            case .user(let user, .request):
                guard let request = try? message.request?.get(), !machine.hasAccepted(request, of: user) else { break }
                switch request.action {
                case .deleteWorkout(let session), .edit(let session, _): needed.insert(SessionKey(user, session))
                default: break
                }
            default: break
            }
        }
        let keys = needed.union(seen.keys).filter { machine.entries[$0] == nil && outbox.owns($0.user.shard) }
        for record in try await history(keys) {
            guard let key = SessionKey(record.key) else { continue }
            // Most are echoes of retained topics after a connect.
            if !needed.contains(key), let stored = try? JSONCoding.decode(StoredRevisions.self, from: record.value),
                seen[key]?.allSatisfy(stored.includes) ?? true
            {
                continue
            }
            try await borrow(record, now)
        }
    }

    /// Loads one session from history; `nil` if it is in memory or its record cannot be decoded.
    @discardableResult
    mutating func borrow(_ record: StoreRecord, _ now: Moment) async throws -> SessionRecord? {
        guard let session: SessionRecord = decodeRecord(record, from: SessionRecord.history),
            machine.entries[session.session.key] == nil
        else { return nil }
        let key = session.session.key
        if machine.isErased(key.user, revision: session.revision) {
            outbox.add(machine.erase(session, now))
            return nil
        }
        machine.load(session, replies: try await replies(of: key), now: now)
        borrowed[key] = machine.entries[key]
        return session
    }

    /// The records of some sessions in history.
    func history(_ keys: some Sequence<SessionKey>) async throws(StoreError) -> [StoreRecord] {
        let places = keys.sorted().map { StoreKey(shard: $0.user.shard, key: "\($0)") }
        return places.isEmpty ? [] : try await store.records(in: SessionRecord.history, at: places)
    }

    /// Moves borrowed sessions that changed back to the sessions in memory, and those whose topics it publishes after their
    /// time, so that they are cleared again.
    mutating func keepChanged(_ now: Moment) {
        guard !borrowed.isEmpty else { return }
        let published = Set(
            outbox.actions.compactMap { action -> SessionKey? in
                switch action {
                case .publishState(let key), .publishWorkout(let key): key
                default: nil
                }
            })
        for (key, before) in borrowed {
            guard let entry = machine.entries[key] else {
                borrowed[key] = nil
                continue
            }
            let isLate = published.contains(key) && machine.table.goneAt(entry).map { $0 <= now } ?? false
            let hasChanged = entry.record != before.record || entry.replies.count != before.replies.count
            guard hasChanged || isLate else { continue }
            borrowed[key] = nil
            outbox.add([.unarchive(key)])
        }
    }

    /// Removes borrowed sessions from memory again, once nothing pending needs them.
    mutating func giveBack() {
        guard !borrowed.isEmpty, outbox.actions.isEmpty else { return }
        for key in borrowed.keys { machine.table.forget(key) }
        borrowed = [:]
    }

    // MARK: History

    /// Reads pages of the history and replies. Equal pages are read once.
    mutating func reply(to requests: [(user: User, page: HistoryPage)], _ now: Moment) async throws {
        var pages: [HistoryRange: Reply] = [:]
        var replies: [MQTTMessage] = []
        for (user, page) in requests {
            guard let client = page.envelope.client else { continue }
            let range = HistoryRange(user: user, query: page.query)
            var reply = Reply(id: page.envelope.id, revision: nil, now: now.wallClock)
            if let found = pages[range] {
                reply = found
                reply.id = page.envelope.id
            } else {
                switch page.query {
                case .page(let query): try await read(query, of: user, into: &reply)
                case .changes(let cursor): try await readChanges(after: cursor, of: user, into: &reply)
                }
                pages[range] = reply
            }
            if page.reader != user {
                reply.workouts = reply.workouts?.map(\.forViewers)
                reply.changes = reply.changes?.map(\.forViewers)
            }
            replies += reply.messages(to: page.reader, client)
        }
        await context.send(replies)
    }

    private mutating func read(_ query: HistoryQuery, of user: User, into reply: inout Reply) async throws {
        // One workout beyond the page proves that there is another page.
        let records = try await store.records(
            in: SessionRecord.overviews, of: query.keys(of: user), limit: query.limit + 1)
        let page = records.prefix(query.limit).fitting
        let workouts: [WorkoutOverview] = page.compactMap { decodeRecord($0, from: SessionRecord.overviews) }
        reply.workouts = workouts
        if records.count > page.count { reply.next = workouts.last.map { .before($0.place) } }
    }

    /// Reads changes in the order of their numbers. All of them up to the user's latest are on disk.
    private mutating func readChanges(after cursor: ChangeCursor, of user: User, into reply: inout Reply) async throws {
        let log = machine.users[user]?.changes ?? ChangeLog()
        let isKnown = log.includes(cursor)
        let known = isKnown ? cursor : ChangeCursor(0)
        let all = StoreRange(StoreFolder(shard: user.shard, path: "\(user)"))
        let range = StoreRange(
            shard: user.shard, keys: SessionRecord.changeKey(user, known.changed + 1)..<all.keys.upperBound)
        let records = try await store.records(in: SessionRecord.changes, of: range, limit: HistoryQuery.limit + 1)
        let page = records.prefix(HistoryQuery.limit).fitting
        reply.changes = page.compactMap { decodeRecord($0, from: SessionRecord.changes) }
        let hasMore = records.count > page.count
        let last = page.last.flatMap { SessionRecord.changed($0.key) } ?? 0
        if hasMore {
            // Tombstones below `since` may be forgotten while a reader that began at the start reads its pages.
            let isFromStart = known.changed == 0 || known.since != known.changed
            let since = known.changed == 0 ? log.latest : known.since
            reply.next = .changedAfter(ChangeCursor(last, since: isFromStart ? since : last, latest: log.latest))
        } else {
            reply.next = .changedAfter(ChangeCursor(max(last, log.latest)))
        }
        reply.more = hasMore ? true : nil
        reply.reset = isKnown ? nil : true
    }

    /// The record's value; sets aside a record that cannot be decoded, for an operator to examine.
    mutating func decodeRecord<Value: Decodable>(_ record: StoreRecord, from collection: StoreCollection) -> Value? {
        do throws(PayloadError) {
            return try JSONCoding.decode(Value.self, from: record.value, now: context.clock.moment)
        } catch {
            context.logger.error(
                "corrupt record set aside", metadata: LogKey.record(collection.name, record.key))
            outbox.add([.setAside(record.shard, collection, key: record.key, value: record.value)])
            let isSession = [SessionRecord.sessions, SessionRecord.history].contains(collection)
            if isSession, let key = SessionKey(record.key) { outbox.add(machine.loseRecord(of: key)) }
            return nil
        }
    }
}

/// A page of a user's history or of its changes.
private struct HistoryRange: Hashable {
    let user: User
    let query: HistoryRequest
}

extension HistoryQuery {
    /// The records of a page, newest first.
    fileprivate func keys(of user: User) -> StoreRange {
        // The keys of workouts that began at a time or later are not below this key.
        func key(_ time: Timestamp) -> String { "\(user)/\(SessionRecord.text(time))" }
        let all = StoreRange(StoreFolder(shard: user.shard, path: "\(user)"), isDescending: true)
        let start = max(all.keys.lowerBound, from.map(key) ?? all.keys.lowerBound)
        let ends = [before.map { SessionRecord.overviewKey(user, $0) }, to.map(key)]
        let end = max(start, ends.compactMap(\.self).reduce(all.keys.upperBound, min))
        return StoreRange(shard: user.shard, keys: start..<end, isDescending: true)
    }
}

extension ArraySlice<StoreRecord> {
    /// The first records that fit a reply, at least one: a payload has at most 256 KiB.
    fileprivate var fitting: ArraySlice<StoreRecord> {
        var left = 224 << 10
        return prefix { record in
            defer { left -= record.value.count + 1 }
            return left == 224 << 10 || record.value.count < left
        }
    }
}

extension StoredRevisions {
    /// Whether a message about the session brings nothing new.
    fileprivate func includes(_ message: EngineMessage) -> Bool {
        guard let received = try? JSONCoding.decode(Summary.self, from: message.payload) else { return true }
        switch message.topic {
        case .session(_, .state): return received.revision == revision
        case .session(_, .profile): return received.revision == profileRevision
        case .session(_, .workout): return received.revision == workout?.revision
        case .session(_, .summaryMetrics): return received <= report
        case .session(_, .summaryRoute): return received <= route
        case .session(_, .weather): return received.revision <= weather?.revision ?? -1
        default: return true
        }
    }
}

extension StoredRevisions.Summary {
    fileprivate static func <= (received: Self, known: Self?) -> Bool {
        guard let known else { return false }
        return (received.revision, received.state ?? 0, received.route ?? 0)
            <= (known.revision, known.state ?? 0, known.route ?? 0)
    }
}
