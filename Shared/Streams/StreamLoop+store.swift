import Bus
import Logging
import OrderedCollections
import ServiceKit
import Storage
import Workouts

extension StreamLoop {
    /// Makes everything that came in durable, then acknowledges it. When the disk refuses nothing of it counts, nothing is
    /// acknowledged to the devices, and they send it again.
    mutating func commit(_ now: Timestamp, acknowledge: () -> Void = {}) async throws {
        var writes = machine.stage().compactMap { chunk in
            write(chunk.shard, StreamStore.chunks, chunk.key, chunk.bytes)
        }
        writes += machine.unsaved.sorted().compactMap { key in
            machine.sessions[key].flatMap { write(key, $0.record) }
        }
        let items = machine.pendingItems
        guard await commit(writes, items: items) else {
            machine.discardPending()
            return acknowledge()
        }
        // At once, so that the next batch is read while these items go into the live metrics.
        acknowledge()
        machine.committed(now: now)
        messages += machine.takeAcks()
    }

    /// Commits, or logs why not.
    mutating func commit(_ writes: [StoreWrite], items: Int = 0) async -> Bool {
        guard !writes.isEmpty else { return true }
        let begun = ContinuousClock.now
        do throws(StoreError) {
            let report = try await store.commit(writes)
            metrics.commit(items: items, took: ContinuousClock.now - begun)
            if health.note(true) { context.logger.notice("the store takes writes again") }
            lose(report.lostShards)
            return true
        } catch {
            // Once, for it goes on many times a second until somebody makes room.
            if health.note(false) {
                context.logger.error(
                    "items not saved, devices will send them again", metadata: [LogKey.error: "\(error)"])
            }
            return false
        }
    }

    /// Removes what is stored of deleted sessions, then what stands retained of them.
    mutating func purge() async throws {
        for key in machine.toPurge.sorted() {
            let folder = StoreFolder(shard: key.session.shard, path: "\(key)")
            var writes = try await store.records(in: StreamStore.chunks, below: [folder]).compactMap { record in
                remove(key, StreamStore.chunks, record.key)
            }
            writes += [remove(key, StreamStore.retained, "\(key)")].compactMap(\.self)
            writes += [machine.sessions[key].flatMap { write(key, $0.record) }].compactMap(\.self)
            guard await commit(writes) else { return }
            retention.remove(key)
            requestedChunks.remove(key)
            messages += machine.purged(key)
        }
    }

    /// Writes down how long retained topics are to stand, and clears those whose time is over; looks once a minute.
    mutating func clearRetained(_ now: Timestamp) async throws {
        guard retention.isDue(now) else { return }
        let (expired, unsaved) = retention.changes(now)
        var writes = unsaved.compactMap { key in
            write(key.session.shard, StreamStore.retained, "\(key)", retention.value(key))
        }
        writes += expired.compactMap { remove($0, StreamStore.retained, "\($0)") }
        guard await commit(writes) else { return }
        retention.stored(unsaved)
        for key in expired {
            retention.remove(key)
            messages += StreamMachine<Work>.cleared(key)
        }
    }

    func write(_ key: SessionKey, _ record: StreamRecord<Work.Totals>) -> StoreWrite? {
        write(key.session.shard, StreamStore.sessions, "\(key)", JSONCoding.encode(record))
    }

    func write(_ shard: Shard, _ collection: StoreCollection, _ key: String, _ value: [UInt8]) -> StoreWrite? {
        guard let epoch = epochs[shard] else { return nil }
        return StoreWrite(shard: shard, epoch: epoch, collection: collection, change: .put(key: key, value: value))
    }

    private func remove(_ key: SessionKey, _ collection: StoreCollection, _ name: String) -> StoreWrite? {
        guard let epoch = epochs[key.session.shard] else { return nil }
        return StoreWrite(shard: key.session.shard, epoch: epoch, collection: collection, change: .delete(key: name))
    }

    /// Another process works for these shards now.
    mutating func lose(_ shards: Set<Shard>) {
        guard !shards.isEmpty else { return }
        for shard in shards { epochs[shard] = nil }
        unknown = unknown.filter { !shards.contains($0.session.shard) }
        machine.drop { shards.contains($0.session.shard) }
    }
}
