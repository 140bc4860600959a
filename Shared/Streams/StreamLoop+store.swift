import Bus
import Logging
import ServiceKit
import Storage
import Workouts

extension StreamLoop {
    /// The outcome of a commit for one session.
    enum Outcome {
        case committed
        /// Another process owns the session's shard: publish nothing of the session.
        case lost
        case refused
    }

    /// Makes received items and states durable, then acknowledges them. After a failed write nothing counts and nothing is
    /// acknowledged to devices, which send it again.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of due streams that move from the journal into chunks.
    ///   - trim: what leaves the journal instead of the records whose items are in chunks.
    mutating func commit(
        _ now: Moment, limit: Int? = nil, trim: JournalTrim? = nil, mayUseReserve: Bool = false,
        finish: () -> Void = {}
    ) async throws {
        committedAt = now
        let removable = trim == nil ? machine.journal.removable() : nil
        let trim = removable.map { .own(through: $0) } ?? trim
        var writes = machine.stage(due: limit ?? machine.journal.limit(now), now: now).compactMap { change in
            writer.write(change.shard, change.collection, change.change)
        }
        writes += machine.stageRoutes().compactMap { writer.write($0, StreamStore.tracks, $1) }
        let unsaved = machine.schedule.sessions(with: .record)
        writes += unsaved.compactMap { put($0.nextRecord, of: $0.state.key) }
        // From its first record on, the next owner finds an unfinished session among those it announces.
        let begun = unsaved.filter { $0.isUnfinished && !retention.stands($0.state.key) }.map(\.state.key)
        for key in begun { retention.published(key, now) }
        writes += begun.compactMap { put($0.session.shard, StreamStore.retained, "\($0)", retention.value($0)) }
        let usage = machine.quota.changes
        writes += usage.compactMap { writer.write($0.key.shard, DailyQuota.collection, $0.value) }
        let items = machine.countPending()
        guard let report = await commit(writes, items: items, trim: trim, mayUseReserve: mayUseReserve) else {
            machine.discardPending(now)
            return finish()
        }
        // At once, so that the next batch is read while the live metrics are computed.
        finish()
        retention.stored(begun)
        machine.quota.stored(usage)
        if removable != nil { machine.journal.removed() }
        let journaled = report.journaled.map {
            (sequence: $0.sequence, bytes: writes.reduce(0) { $0 + $1.journaledBytes })
        }
        machine.committed(now: now, journaled: journaled)
        for (key, acks) in machine.takeAcks(now: now, writer.epochs) { send(acks, of: key) }
    }

    /// Takes in once a minute what other replicas stored of accounts' items, and shows the highest number.
    mutating func shareQuota(_ now: Moment) async throws {
        guard machine.quota.isShareDue(now) else { return }
        let others = Set(Shard.all.filter { !writer.owns($0) })
        if !others.isEmpty {
            machine.quota.see(try await store.records(in: DailyQuota.collection, shards: others), now)
        }
        metrics.quota(highest: machine.quota.highest)
    }

    /// Commits writes of one session.
    mutating func commit(_ writes: [StoreWrite?], of key: SessionKey, mayUseReserve: Bool = false) async -> Outcome {
        guard await commit(writes.compactMap(\.self), mayUseReserve: mayUseReserve) != nil else { return .refused }
        return writer.owns(key.session.shard) ? .committed : .lost
    }

    /// Commits and drops the shards that were lost. Returns `nil` if the store refused the writes.
    mutating func commit(
        _ writes: [StoreWrite], items: Int = 0, trim: JournalTrim? = nil, mayUseReserve: Bool = false
    ) async -> CommitReport? {
        guard !writes.isEmpty || trim != nil else { return CommitReport() }
        let now = context.clock.moment
        switch await writer.commit(writes, trim: trim, mayUseReserve: mayUseReserve) {
        case .committed(let report, let took):
            metrics.commit(items: items, took: took)
            forget(report.lostShards)
            revisions.committed(Set(writes.map(\.shard)).subtracting(report.lostShards), now)
            return report
        // Devices send again what is not acknowledged.
        case .refused: return nil
        }
    }

    /// Removes the stored data of deleted sessions, then clears their retained topics.
    mutating func purge(_ now: Moment) async throws {
        for session in machine.schedule.sessions(with: .purge) {
            let key = session.state.key
            let folder = StoreFolder(shard: key.session.shard, path: "\(key)")
            var writes = try await store.records(in: StreamStore.chunks, below: [folder]).map { record in
                remove(key, StreamStore.chunks, record.key)
            }
            writes.append(writer.write(key.session.shard, StreamStore.tracks, .deleteFolder(path: "\(key)")))
            writes.append(remove(key, StreamStore.retained, "\(key)"))
            writes.append(put(session.record, of: key))
            switch await commit(writes, of: key, mayUseReserve: true) {
            case .refused: return
            case .lost: continue
            case .committed:
                retention.remove(key)
                send(machine.purged(session, now: now), of: key)
            }
        }
    }

    /// Stores the times of retained topics and clears expired ones, once a minute.
    mutating func clearRetained(_ now: Moment) async throws {
        guard retention.isDue(now) else { return }
        let (expired, unsaved) = retention.changes(now)
        var writes = unsaved.compactMap { key in
            put(key.session.shard, StreamStore.retained, "\(key)", retention.value(key))
        }
        writes += expired.compactMap { remove($0, StreamStore.retained, "\($0)") }
        guard await commit(writes) != nil else { return }
        retention.stored(unsaved)
        for key in expired {
            retention.remove(key)
            send(StreamMachine<Work>.cleared(key), of: key)
        }
    }

    func put(_ record: StreamRecord<Work.Totals>, of key: SessionKey) -> StoreWrite? {
        put(key.session.shard, StreamStore.sessions, "\(key)", JSONCoding.encode(record))
    }

    func put(_ shard: Shard, _ collection: StoreCollection, _ key: String, _ value: [UInt8]) -> StoreWrite? {
        writer.write(shard, collection, .put(key: key, value: value))
    }

    private func remove(_ key: SessionKey, _ collection: StoreCollection, _ name: String) -> StoreWrite? {
        writer.write(key.session.shard, collection, .delete(key: name))
    }

    /// Drops shards that are to be released, or that another process owns.
    mutating func drop(_ shards: Set<Shard>) {
        writer.drop(shards)
        forget(shards)
    }

    /// Removes all state of shards that the writer has dropped.
    mutating func forget(_ shards: Set<Shard>) {
        guard !shards.isEmpty else { return }
        revisions.drop(shards)
        machine.drop { shards.contains($0.session.shard) }
        machine.quota.drop(shards)
        retention.drop(shards)
        pendingBuffer.drop { shards.contains($0.session.shard) }
        unknown = unknown.filter { !shards.contains($0.session.shard) }
        corrupt = corrupt.filter { !shards.contains($0.session.shard) }
    }
}

extension StoreWrite {
    /// The size of what the write appends to the journal.
    fileprivate var journaledBytes: Int {
        guard case .append(let stream, _, let items) = change else { return 0 }
        return stream.utf8.count + items.count
    }
}
