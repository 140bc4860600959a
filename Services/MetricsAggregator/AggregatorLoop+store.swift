import Bus
import Logging
import ServiceKit
import Storage
import Workouts

extension AggregatorLoop {
    // MARK: Reading

    mutating func loadCeilings(_ shards: Set<Shard>) async throws {
        for record in try await store.records(in: AggregatorStore.revisions, shards: shards) {
            floors[record.shard] = Int64(String(decoding: record.value, as: UTF8.self))
        }
    }

    /// Brings into memory what the topics speak of: records for all of them, streams where items come.
    mutating func load(_ topics: [Topic], _ now: Timestamp) async throws {
        var unknown: Set<SessionKey> = []
        var withItems: Set<SessionKey> = []
        for case .session(let key, let kind) in topics {
            guard epochs[key.session.shard] != nil else { continue }
            if machine.sessions[key] == nil { unknown.insert(key) }
            if case .samples = kind { withItems.insert(key) }
        }
        if !unknown.isEmpty {
            let keys = unknown.sorted().map { StoreKey(shard: $0.session.shard, key: "\($0)") }
            for record in try await store.records(in: AggregatorStore.sessions, at: keys) {
                do {
                    let record = try JSONCoding.decode(SessionRecord.self, from: record.value)
                    machine.load(record, now: now)
                    // Whatever brings it back into memory, the broker may have forgotten what stood retained.
                    announce(record.state.key, now)
                } catch {
                    // Its state comes again from the session engine; its samples are not in it.
                    context.logger.error("corrupt record ignored", metadata: ["record": "\(record.key)"])
                }
            }
        }
        for key in withItems.sorted() where machine.sessions[key] != nil && machine.sessions[key]?.streams == nil {
            try await readStreams(key)
        }
    }

    /// Makes the live fold of sessions anew whose segments changed.
    mutating func refold() async throws {
        for key in machine.stale.sorted() where machine.sessions[key]?.hasMetrics == true { try await readStreams(key) }
    }

    /// Reads all samples of a session, and its streams and live metrics with them.
    @discardableResult
    mutating func readStreams(_ key: SessionKey) async throws -> [Device: [Sample]] {
        let folder = StoreFolder(shard: key.session.shard, path: "\(key)")
        var chunks: [Device: [[UInt8]]] = [:]
        for record in try await store.records(in: AggregatorStore.chunks, below: [folder]) {
            guard let (device, number) = AggregatorStore.chunk(record.key) else { continue }
            // Keys come in order, and a stream has no gaps.
            if number == chunks[device, default: []].count { chunks[device, default: []].append(record.value) }
        }
        var samples: [Device: [Sample]] = [:]
        var streams: [Device: SampleStream] = [:]
        for (device, stored) in chunks {
            let readable = stored.prefix { (try? SampleChunk.samples($0)) != nil }
            if readable.count < stored.count {
                // The device is asked for the rest again, and what cannot be read is written over.
                context.logger.error("corrupt samples left out", metadata: ["stream": "\(key)/\(device)"])
            }
            samples[device] = try readable.flatMap(SampleChunk.samples)
            streams[device] = try SampleStream(stored: Array(readable))
        }
        machine.fold(key, samples, streams: machine.sessions[key]?.streams == nil ? streams : nil)
        return samples
    }

    // MARK: Writing

    /// Makes everything that came in durable, then acknowledges it. When the disk refuses nothing of it counts, nothing is
    /// acknowledged to the devices, and they send it again.
    mutating func commit(_ now: Timestamp, acknowledge: () -> Void = {}) async throws {
        var writes = machine.stage().compactMap { chunk in
            write(
                chunk.key.session.shard, AggregatorStore.chunks,
                AggregatorStore.chunkKey(chunk.key, chunk.device, chunk.number), chunk.bytes)
        }
        writes += machine.unsaved.sorted().compactMap { key in
            machine.sessions[key].flatMap { write(key, $0.record) }
        }
        guard await commit(writes) else {
            machine.discardPending()
            return acknowledge()
        }
        machine.committed(now: now)
        acknowledge()
        messages += machine.takeAcks().map { owed in
            Topic.session(owed.key, .samplesAck(owed.device)).message(owed.ack.payload)
        }
    }

    /// Commits, or logs why not.
    mutating func commit(_ writes: [StoreWrite]) async -> Bool {
        guard !writes.isEmpty else { return true }
        do throws(StoreError) {
            let report = try await store.commit(writes)
            lose(report.lostShards)
            return true
        } catch {
            context.logger.error("items not saved, devices will send them again", metadata: ["error": "\(error)"])
            return false
        }
    }

    func write(_ key: SessionKey, _ record: SessionRecord) -> StoreWrite? {
        write(key.session.shard, AggregatorStore.sessions, "\(key)", JSONCoding.encode(record))
    }

    func write(_ shard: Shard, _ collection: StoreCollection, _ key: String, _ value: [UInt8]) -> StoreWrite? {
        guard let epoch = epochs[shard] else { return nil }
        return StoreWrite(shard: shard, epoch: epoch, collection: collection, change: .put(key: key, value: value))
    }

    /// Another process works for these shards now.
    mutating func lose(_ shards: Set<Shard>) {
        guard !shards.isEmpty else { return }
        for shard in shards { epochs[shard] = nil }
        machine.drop { shards.contains($0.session.shard) }
    }
}
