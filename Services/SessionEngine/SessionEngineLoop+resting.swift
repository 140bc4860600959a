import Bus
import Foundation
import Logging
import ServiceKit
import Storage
import Workouts

/// Sessions in history whose topics are still retained, and the removal of a user's data: both in steps between other work.
extension SessionEngineLoop {
    /// The removal of a user's sessions.
    struct Erasure {
        /// What is left of each collection; at the end the erasure is over.
        var ranges: [(collection: StoreCollection, range: StoreRange)]

        init(_ user: User) {
            let range = StoreRange(StoreFolder(shard: user.shard, path: "\(user)"))
            ranges = [(SessionRecord.sessions, range), (SessionRecord.history, range)]
        }
    }

    private static let sweepInterval = 60.0
    private static let purgeInterval = 1.0

    /// Publishes the topics of sessions in history again, after a connect.
    mutating func announceResting(_ now: Moment) async throws {
        var limit = Self.pageSize
        while let range = announcing.first, limit > 0 {
            guard outbox.owns(range.shard) else {
                announcing.removeFirst()
                continue
            }
            let page = try await store.records(in: SessionRecord.due, of: range, limit: limit)
            limit -= page.count
            if let last = page.last { announcing[0] = range.after(last.key) } else { announcing.removeFirst() }
            let keys = Set(page.compactMap { SessionRecord.dueSession($0.key) }).filter { machine.entries[$0] == nil }
            for record in try await history(keys) {
                guard let key = try await borrow(record, now)?.session.key else { continue }
                if let entry = machine.entries[key] { outbox.add(machine.announce(entry)) }
            }
        }
    }

    /// Clears the topics of sessions in history after their time.
    mutating func sweep(_ now: Moment) async throws {
        guard outbox.actions.isEmpty, sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval }) ?? true else {
            return
        }
        var isDone = true
        for shard in outbox.epochs.keys {
            let range = StoreRange(shard: shard, keys: ""..<SessionRecord.text(now.wallClock + 1e-6))
            let page = try await store.records(in: SessionRecord.due, of: range, limit: Self.pageSize)
            if page.count == Self.pageSize { isDone = false }
            for due in page {
                guard let key = SessionRecord.dueSession(due.key) else { continue }
                outbox.add([.settle(key, due.key)])
                // A session in memory rests again later.
                guard machine.entries[key] == nil, let record = try await history([key]).first,
                    let session: SessionRecord = decodeRecord(record, from: SessionRecord.history)
                else { continue }
                let isDeleted = session.session.statusName == .deleted
                // It rested again since, with another time.
                let retention = isDeleted ? EngineSession.deletedRetention : RetainedTopic.lifetime
                guard now.wallClock.seconds(since: session.revisedAt) >= retention - 1 else { continue }
                outbox.add([.expire(key, isDeleted: isDeleted)])
                guard isDeleted else { continue }
                outbox.add(machine.forgetChange(session))
                machine.quotas[key.user]?.erase()
                outbox.add([.saveQuota(key.user)])
            }
        }
        if isDone { sweptAt = now }
    }

    /// Removes a part of the data of a user whose removal is under way.
    mutating func erase(_ now: Moment) async throws {
        guard outbox.isWriting, let user = erasures.keys.min(), var erasure = erasures[user] else { return }
        var limit = Self.pageSize
        while outbox.owns(user.shard), limit > 0, let (collection, range) = erasure.ranges.first {
            let page = try await store.records(in: collection, of: range, limit: limit)
            for record in page { erase(record, in: collection, of: user, now) }
            if page.count == limit, let last = page.last {
                erasure.ranges[0].range = range.after(last.key)
            } else {
                erasure.ranges.removeFirst()
            }
            limit -= page.count
        }
        guard !outbox.owns(user.shard) || erasure.ranges.isEmpty else {
            erasures[user] = erasure
            return
        }
        erasures[user] = nil
        outbox.add(machine.erased(user))
    }

    private mutating func erase(_ record: StoreRecord, in collection: StoreCollection, of user: User, _ now: Moment) {
        guard let key = SessionKey(record.key), machine.entries[key] == nil else { return }
        guard let session = try? JSONCoding.decode(SessionRecord.self, from: record.value, now: now) else {
            return outbox.add([.setAside(record.shard, collection, key: record.key, value: []), .clear(key)])
        }
        if machine.isErased(user, revision: session.revision) { outbox.add(machine.erase(session, now)) }
    }

    /// Begins the removal of users whom the operator names in files of the folder `purge` beside the store.
    mutating func erasePurged(_ now: Moment) {
        guard purgedAt.map({ now.seconds(since: $0) >= Self.purgeInterval }) ?? true else { return }
        purgedAt = now
        let folder = purgeFolder
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return }
        for user in names.compactMap({ User($0) }) where erasures[user] == nil && outbox.owns(user.shard) {
            let path = "\(folder)/\(user)"
            guard !refusedPurges.contains(path) else { continue }
            // A file that stays would remove the user's later workouts too.
            guard FileManager.default.isDeletableFile(atPath: path) else {
                refuse(path)
                continue
            }
            erasures[user] = Erasure(user)
            outbox.add(machine.eraseEverything(of: user, now) + [.saveUser(user)])
            purged.append(path)
            context.logger.notice("removing a user's data", metadata: [LogKey.user: "\(user)"])
        }
    }

    /// Removes the operator's files once the store has the order.
    mutating func confirmPurged() {
        guard outbox.actions.isEmpty else { return }
        for path in purged {
            do { try FileManager.default.removeItem(atPath: path) } catch { refuse(path) }
        }
        purged = []
    }

    private mutating func refuse(_ path: String) {
        refusedPurges.insert(path)
        context.logger.error("purge file cannot be removed, ignored; remove it", metadata: [LogKey.file: "\(path)"])
    }

    private var purgeFolder: String {
        switch context.configuration.store {
        case .sqlite(let path): URL(filePath: path).deletingLastPathComponent().appending(path: "purge").path
        case .postgres: "./data/purge"
        }
    }
}
