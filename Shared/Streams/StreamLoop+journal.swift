import Bus
import Logging
import ServiceKit
import Storage
import Workouts

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
            try await run(&searches)
            var writes: [StoreWrite?] = []
            for (search, stream) in zip(searches, part) {
                // The rest of a stream with an unreadable chunk is void, and its device sends it again.
                guard var merge = try? StreamMerge<Work.Item>(last: search.last) else {
                    ignored += stream.entries.count
                    continue
                }
                for entry in stream.entries { merge.add(tail.entries[entry].first, tail.entries[entry].items) }
                ignored += merge.ignored
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
                metadata: ["entries": "\(ignored)"])
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
        try await commit(now, trim: .shards(writer.epochs.filter { shards.contains($0.key) }), mayUseReserve: true)
    }

    /// Moves due items into chunks if no commit of received items has done so for a second.
    mutating func clearJournal(_ now: Moment) async throws {
        guard committedAt.map({ now.seconds(since: $0) >= StreamTimes.journalInterval }) ?? true,
            machine.journal.isDue(now)
        else { return }
        try await commit(now, limit: StreamTimes.dueOfTick, mayUseReserve: true)
    }
}
