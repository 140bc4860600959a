import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

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
        var missing: Set<SessionKey> = []
        /// Sessions in topics of clients or the engine, not only in retained topics of this service.
        var referred: Set<SessionKey> = []
        var streams: [SessionKey: Set<Device>] = [:]
        for case .session(let key, let kind) in topics {
            let session = machine.sessions[key]
            if session == nil {
                // Another reader requested the track of an old session.
                if case .track = kind { continue }
                guard writer.owns(key.session.shard), !unknown.contains(key) else { continue }
                missing.insert(key)
                if !Self.isRetained(kind) { referred.insert(key) }
            }
            guard let device = Work.kind.device(of: kind), session?.hasAllStreams != true else { continue }
            if session?.stream(of: device) == nil { streams[key, default: []].insert(device) }
        }
        if !missing.isEmpty { try await loadRecords(missing, announcing: referred, now) }
        if !streams.isEmpty { try await loadHeads(streams) }
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
        _ missing: Set<SessionKey>, announcing announced: Set<SessionKey>, _ now: Moment
    ) async throws {
        let keys = missing.sorted().map { StoreKey(shard: $0.session.shard, key: "\($0)") }
        for record in try await store.records(in: StreamStore.sessions, at: keys) {
            do {
                let record = try JSONCoding.decode(StreamRecord<Work.Totals>.self, from: record.value, now: now)
                machine.load(record, now: now)
                if announced.contains(record.state.key) { announce(record.state.key, now) }
            } catch {
                // The session engine publishes the state again; the items are stored apart.
                if let key = SessionKey(record.key) { corrupt.insert(key) }
                context.logger.error("corrupt record ignored", metadata: ["record": "\(record.key)"])
            }
        }
        let absent = missing.filter { machine.sessions[$0] == nil }
        if unknown.count + absent.count > StreamTimes.unknownLimit { unknown = [] }
        unknown.formUnion(absent.prefix(StreamTimes.unknownLimit))
    }

    /// Replaces corrupt records when the sessions' state arrives. The new records keep all stored items.
    mutating func replaceCorruptRecords(_ runs: [TopicRun], _ now: Moment) async throws {
        guard !corrupt.isEmpty else { return }
        for run in runs {
            // An invalid state is rejected like any other.
            guard case .session(let key, .state)? = run.topic, corrupt.contains(key),
                let state = run.messages.lazy.compactMap({ try? SessionState($0.payload) }).first(where: {
                    $0.key == key
                })
            else { continue }
            corrupt.remove(key)
            unknown.remove(key)
            var record = StreamRecord<Work.Totals>(state: state)
            record.needsSummary = true
            let session = machine.load(record, now: now)
            machine.schedule.add(.record, to: session)
            try await readStreams(session, now)
        }
    }

    /// Reads the first and the last chunk of streams to continue. A search finds the number of the last.
    private mutating func loadHeads(_ wanted: [SessionKey: Set<Device>]) async throws {
        var searches = wanted.filter { machine.sessions[$0.key].map { $0.state.status != .deleted } ?? false }.flatMap {
            key, devices in devices.map { StreamSearch(key, $0) }
        }
        try await run(&searches)
        for search in searches {
            guard let first = search.first, let last = search.last else { continue }
            do {
                let stream = try StoredStream<Work.Item>(first: first, last: last.bytes, number: last.number)
                if stream.knowsLastTime {
                    machine.load(stream, from: search.device, of: search.key)
                    continue
                }
            } catch {}
            // Reading the whole stream finds its readable part and the time of its last item.
            if let session = machine.sessions[search.key] { try await readStreams(session, context.clock.moment) }
        }
    }

    /// Reads what searches ask for, until all are done.
    func run(_ searches: inout [StreamSearch]) async throws {
        var open = searches.indices.map(\.self)
        while !open.isEmpty {
            let asked = open.flatMap { index in searches[index].keys.map { (index, $0) } }
            let records = try await store.records(in: StreamStore.chunks, at: asked.map(\.1))
            var next = 0
            for (index, key) in asked {
                // Records come in the order of their keys; absent ones are left out.
                let isFound = next < records.count && records[next].key == key.key
                searches[index].answer(isFound ? records[next].value : nil)
                if isFound { next += 1 }
            }
            open.removeAll { searches[$0].isDone }
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
            context.logger.error("corrupt items ignored", metadata: ["stream": "\(key)/\(device)"])
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
