import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

/// Reading the store.
extension StreamLoop {
    mutating func loadCeilings(_ shards: Set<Shard>) async throws {
        for record in try await store.records(in: StreamStore.revisions, shards: shards) {
            guard let ceiling = Int64(String(decoding: record.value, as: UTF8.self)) else { continue }
            revisions.load(ceiling, of: record.shard)
        }
    }

    mutating func loadRetention(_ shards: Set<Shard>, _ now: Moment) async throws {
        for record in try await store.records(in: StreamStore.retained, shards: shards) {
            guard let key = SessionKey(record.key) else { continue }
            retention.load(key, record.value, now)
        }
    }

    /// Loads what the topics refer to: the records of sessions, and the end of each stream that items come for.
    mutating func load(_ topics: [Topic], _ now: Moment) async throws {
        var wanted: Set<SessionKey> = []
        /// Sessions in topics of clients or the engine, not only in retained topics of this service.
        var referred: Set<SessionKey> = []
        var streams: [SessionKey: Set<Device>] = [:]
        for case .session(let key, let kind) in topics {
            let session = machine.sessions[key]
            if session == nil {
                // Another reader requested the track of an old session.
                if case .track = kind { continue }
                guard writer.owns(key.session.shard), !missingRecords.isUnknown(key) else { continue }
                wanted.insert(key)
                if !Self.isRetained(kind) { referred.insert(key) }
            }
            guard let device = Work.kind.device(of: kind), session?.hasAllStreams != true else { continue }
            if session?.stream(of: device) == nil { streams[key, default: []].insert(device) }
        }
        if !wanted.isEmpty { try await loadRecords(wanted, announcing: referred, now) }
        try await loadHeads(streams)
    }

    /// Whether a topic other than `state` may arrive only because the broker retains it.
    private static func isRetained(_ topic: SessionTopic) -> Bool {
        switch topic {
        case .profile, .route, .summaryMetrics, .summaryRoute: true
        default: false
        }
    }

    /// Loads records of sessions, and publishes the retained topics of some of them: the broker may have lost those.
    mutating func loadRecords(
        _ wanted: Set<SessionKey>, announcing announced: Set<SessionKey>, _ now: Moment
    ) async throws {
        let keys = wanted.sorted().map { StoreKey(shard: $0.session.shard, key: "\($0)") }
        for record in try await store.records(in: StreamStore.sessions, at: keys) {
            do {
                let record = try JSONCoding.decode(StreamRecord<Work.Totals>.self, from: record.value, now: now)
                machine.load(record, now: now)
                if announced.contains(record.state.key) { announce(record.state.key, now) }
            } catch {
                // The session engine publishes the state again; the items are stored apart.
                if let key = SessionKey(record.key) { missingRecords.noteCorrupt(key) }
                context.logger.error("corrupt record ignored", metadata: LogKey.record("sessions", record.key))
            }
        }
        let absent = wanted.filter { machine.sessions[$0] == nil }
        missingRecords.noteUnknown(absent)
    }

    /// Replaces corrupt records when the sessions' state arrives. The new records keep all stored items.
    mutating func replaceCorruptRecords(_ runs: [TopicRun], _ now: Moment) async throws {
        guard missingRecords.hasCorrupt else { return }
        for run in runs {
            // An invalid state is rejected like any other.
            guard case .session(let key, .state)? = run.topic, missingRecords.isCorrupt(key),
                let state = run.messages.lazy.compactMap({ try? SessionState($0.payload) }).first(where: {
                    $0.key == key
                })
            else { continue }
            missingRecords.found(key)
            var record = StreamRecord<Work.Totals>(state: state)
            record.needsSummary = true
            let session = machine.load(record, now: now)
            machine.schedule.add(.record, to: session)
            try await readStreams(session, now)
        }
    }

    /// Reads the first and the last chunk of streams to continue. A search finds the number of the last.
    private mutating func loadHeads(_ wanted: [SessionKey: Set<Device>]) async throws {
        var searches = wanted.flatMap { key, devices -> [StreamSearch] in
            guard let session = machine.sessions[key], session.state.status != .deleted else { return [] }
            return devices.filter { session.stream(of: $0) == nil }.map { StreamSearch(key, $0) }
        }
        try await searches.run(in: store)
        for search in searches {
            guard let first = search.first, let last = search.last else { continue }
            do {
                let stream = try StoredStream<Work.Item>(first: first, last: last.bytes, number: last.number)
                if stream.knowsLastTime {
                    machine.sessions[search.key]?.load(stream, from: search.device)
                    continue
                }
            } catch {}
            // Reading the whole stream finds its readable part and the time of its last item.
            if let session = machine.sessions[search.key] { try await readStreams(session, context.clock.moment) }
        }
    }

    /// Computes live folds that are missing or no longer exact. The first of a stored session acknowledges its streams.
    mutating func refold(_ now: Moment) async throws {
        let end = ContinuousClock.now + StreamTimes.foldTimeout
        for session in machine.foldsDue(now: now) {
            let isFirst = session.live == nil
            try await readStreams(session, now)
            if isFirst { acknowledgeStreams(of: session, now) }
            if ContinuousClock.now > end { return }
        }
    }

    /// Reads all items of a session, and its streams and live fold with them.
    @discardableResult
    mutating func readStreams(_ session: OwnedSession<Work>, _ now: Moment) async throws -> StoredItems<Work> {
        let key = session.state.key
        let records = try await StoredItems<Work>.records(key, store)
        let stored = StoredItems<Work>(records, unsaved: session.unsavedChunks)
        for device in stored.corrupt {
            // The device sends the rest again, which overwrites what is unreadable.
            context.logger.error("corrupt items ignored", metadata: LogKey.session(key, [LogKey.device: "\(device)"]))
        }
        machine.fold(session, stored, now: now)
        return stored
    }

    /// Acknowledges the streams of an unfinished session that was just loaded: devices continue at once where the former owner
    /// committed.
    mutating func acknowledgeStreams(of session: OwnedSession<Work>, _ now: Moment) {
        guard session.isUnfinished else { return }
        session.acknowledgeAll()
        send(session.takeAcks(now, writer.epochs), of: session.state.key)
    }
}

/// Moving the journal into chunks.
extension StreamLoop {
    /// Moves what the journal has of gained shards into chunks, before anything reads their streams.
    ///
    /// - Throws: ``StoreError/notReadable(_:)`` if the store takes no writes: the service repeats the gain.
    mutating func moveJournal(of shards: Set<Shard>, _ now: Moment) async throws {
        let tail = try await store.journal(of: shards)
        guard !tail.entries.isEmpty || tail.skipped > 0 else { return }
        let streams = try await keptStreams(tail.entries)
        var ignored = tail.skipped
        for start in stride(from: 0, to: streams.count, by: StreamTimes.streamsAtOnce) {
            let part = streams[start..<min(start + StreamTimes.streamsAtOnce, streams.count)]
            var searches = part.map { stream in
                let first = stream.entries.lazy.map { tail.entries[$0].first }.min() ?? 0
                return StreamSearch(stream.key, stream.device, near: first / ItemChunk<Work.Item>.capacity)
            }
            try await searches.run(in: store)
            var writes: [StoreWrite?] = []
            for (search, stream) in zip(searches, part) {
                // The rest of a stream with an unreadable chunk is void, and its device sends it again.
                guard var merge = try? StreamMerge<Work.Item>(last: search.last) else {
                    ignored += stream.entries.count
                    continue
                }
                for entry in stream.entries { merge.add(tail.entries[entry].first, tail.entries[entry].items) }
                ignored += merge.ignored
                machine.moved[stream.key, default: [:]][stream.device] = StoredStream(merge, first: search.first)
                let name = StreamStore.name(stream.key, stream.device)
                writes += merge.chunks.map { chunk in
                    writer.write(
                        stream.key.session.shard, StreamStore.chunks,
                        .put(key: StreamStore.chunkKey(name, chunk.number), value: chunk.bytes))
                }
            }
            try await moved(writes.compactMap(\.self))
        }
        try await moved([], .shards(writer.epochs.filter { shards.contains($0.key) }))
        if ignored > 0 {
            context.logger.error(
                "unreadable journal entries ignored; devices will resend these items",
                metadata: [LogKey.count: "\(ignored)"])
        }
    }

    private mutating func moved(_ writes: [StoreWrite], _ trim: JournalTrim? = nil) async throws {
        guard await commit(writes, trim: trim, mayUseReserve: true) != nil else {
            throw StoreError.notReadable("the journal cannot be moved into chunks: writes fail")
        }
    }

    /// The streams of entries by name, without those of deleted sessions, each with the indices of its entries.
    private func keptStreams(
        _ entries: [JournalEntry]
    ) async throws -> [(key: SessionKey, device: Device, entries: [Int])] {
        var indices: [String: [Int]] = [:]
        for (index, entry) in entries.enumerated() { indices[entry.stream, default: []].append(index) }
        let streams = indices.sorted { $0.key < $1.key }.compactMap { name, entries in
            StreamStore.stream(name).map { (key: $0.key, device: $0.device, entries: entries) }
        }
        var deleted: Set<SessionKey> = []
        let keys = Set(streams.map(\.key)).map { StoreKey(shard: $0.session.shard, key: "\($0)") }.sorted()
        for start in stride(from: 0, to: keys.count, by: StreamTimes.streamsAtOnce) {
            let part = Array(keys[start..<min(start + StreamTimes.streamsAtOnce, keys.count)])
            for record in try await store.records(in: StreamStore.sessions, at: part) {
                guard let key = SessionKey(record.key), StreamStore.isDeleted(record.value) else { continue }
                deleted.insert(key)
            }
        }
        return streams.filter { !deleted.contains($0.key) }
    }

    /// Moves the items of shards to release from the journal into chunks. If that fails, the next owner does it.
    mutating func clearJournal(of shards: Set<Shard>, _ now: Moment) async throws {
        machine.stageUnsaved(in: shards)
        try await commitItems(now, trim: .shards(writer.epochs.filter { shards.contains($0.key) }), mayUseReserve: true)
    }

    /// Moves due items into chunks if no commit of received items has done so for a second.
    mutating func clearJournal(_ now: Moment) async throws {
        guard committedAt.map({ now.seconds(since: $0) >= StreamTimes.journalInterval }) ?? true,
            machine.journal.isDue(now)
        else { return }
        try await commitItems(now, limit: StreamTimes.dueOfTick, mayUseReserve: true)
    }
}

/// Deleting, and work of each minute.
extension StreamLoop {
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

    /// Takes in once a minute what other replicas stored of accounts' items, and shows the highest number.
    mutating func shareQuota(_ now: Moment) async throws {
        guard machine.quota.isShareDue(now) else { return }
        let others = Set(Shard.all.filter { !writer.owns($0) })
        if !others.isEmpty {
            machine.quota.see(try await store.records(in: DailyQuota.collection, shards: others), now)
        }
        metrics.quota(highest: machine.quota.highest)
    }

    private func remove(_ key: SessionKey, _ collection: StoreCollection, _ name: String) -> StoreWrite? {
        writer.write(key.session.shard, collection, .delete(key: name))
    }
}
