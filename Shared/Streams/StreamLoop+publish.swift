import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

extension StreamLoop {
    /// Publishes the live metrics and the `heard` that are due, after a commit that shows that their shards are not lost. Their
    /// revisions never decrease, even when the clock steps backwards.
    mutating func publishLive(_ now: Moment) async throws {
        machine.news.advance(to: now, interval: pace.interval)
        let heard = machine.heardDue(now: now)
        var shards = Set(heard.map(\.state.session.shard))
        for (session, _) in machine.news.due { shards.insert(session.state.session.shard) }
        let reserved = revisions.due(shards, now)
        if !reserved.isEmpty {
            let writes = reserved.compactMap { shard, ceiling in
                put(shard, StreamStore.revisions, StreamStore.ceiling, Array("\(ceiling)".utf8))
            }
            guard await commit(writes) != nil else { return }
            revisions.stored(reserved.filter { writer.owns($0.key) })
        }
        for shard in shards where writer.owns(shard) { revisions.published(shard, now) }
        for (session, dueAt) in machine.news.takeDue() {
            let key = session.state.key
            // The engine's `state` outlasts the results of such a session, and would bring them back.
            if session.state.isPast == true, !retention.stands(key) { continue }
            let message = machine.liveMessage(
                session, dueAt: dueAt, now: now, floor: revisions.floor(key.session.shard))
            guard let message else { continue }
            retain(key, now)
            send([message], of: key)
        }
        for session in heard {
            let key = session.state.key
            let message = machine.heardMessage(session, now: now, floor: revisions.floor(key.session.shard))
            guard let message else { continue }
            retain(key, now)
            send([message], of: key)
        }
    }

    private mutating func retain(_ key: SessionKey, _ now: Moment) {
        retention.published(key, now, isPast: machine.sessions[key]?.state.isPast == true)
    }

    /// Announces the kilometres, miles and laps that were just completed.
    mutating func publishSplits(_ now: Moment) {
        for (state, split) in machine.takeFinishedSplits(now: now) {
            var announcement = Announcement(.split, split)
            announcement.unit = Announcement.Unit(state.units)
            send([Topic.session(state.key, .announcements).message(JSONCoding.encode(announcement))], of: state.key)
        }
        for (state, lap) in machine.takeFinishedLaps(now: now) {
            var announcement = Announcement(.lap, lap)
            announcement.distance = lap.distance
            send([Topic.session(state.key, .announcements).message(JSONCoding.encode(announcement))], of: state.key)
        }
    }

    /// Computes due summaries and answers requests for chunks.
    mutating func publishSummaries(_ now: Moment) async throws {
        for session in machine.summariesDue(now: now).prefix(StreamTimes.summariesAtOnce) {
            guard let results = try await finish(session, .summary, now) else { continue }
            let outcome = await publish(machine.summarize(session, results, now: now), now)
            if outcome == .refused { machine.requestSummary(session, now) }
        }
        // A due summary comes first, because the chunks belong to it.
        for session in machine.chunksDue(now: now).prefix(StreamTimes.summariesAtOnce) {
            let summary = try await finish(session, .chunks, now).flatMap {
                machine.repeatChunks(session, $0, now: now)
            }
            if let summary, await publish(summary, now) == .refused { continue }
            session.tasks.remove(.chunks)
        }
    }

    private func log(_ record: StreamRecord<Work.Totals>) {
        let metadata: Logger.Metadata = [
            LogKey.revision: "\(record.report?.revision ?? 0)",
            LogKey.count: "\(record.report?.next.values.reduce(0, +) ?? 0)",
        ]
        context.logger.info("summary recorded", metadata: LogKey.session(record.state.key, metadata))
    }

    /// Computes the results of a session; `nil` if the session has left memory or the track of its route is unreadable.
    private mutating func finish(
        _ session: OwnedSession<Work>, _ purpose: StreamJob<Work>.Purpose, _ now: Moment
    ) async throws -> FinalResults<Work>? {
        // The commit before may have shown that another process owns it.
        guard machine.isKept(session) else { return nil }
        let route = session.route(for: purpose)
        let input = try await route?.input(session.state.key, store)
        if let route, input == nil {
            replaceRoute(route, of: session.state.key, now)
            return nil
        }
        return FinalResults(
            try await readStreams(session, now), of: session.profiled, with: route, input, now: now.wallClock)
    }

    /// Commits the record, then sends chunks and summary, unless the shard was lost. The summary of a job precedes its
    /// chunks, which follow a few at a time.
    mutating func publish(
        _ summary: StreamMachine<Work>.Summary, _ now: Moment, _ job: StreamJob<Work>? = nil
    ) async -> Outcome {
        let key = summary.record.state.key
        if summary.message != nil {
            retention.published(key, now, isPast: summary.record.state.isPast == true)
            let writes = [
                put(summary.record, of: key),
                put(key.session.shard, StreamStore.retained, "\(key)", retention.value(key)),
            ]
            let outcome = await commit(writes, of: key)
            guard outcome == .committed else { return outcome }
            if machine.sessions[key]?.record.report?.revision != summary.record.report?.revision { log(summary.record) }
            machine.adopt(summary)
            retention.stored([key])
        }
        // No summary has the revision 0.
        let revision = summary.message == nil ? 0 : summary.record.report?.revision ?? 0
        let messages = summary.message.map { [$0] } ?? []
        if let job, let rows = summary.rows {
            send(messages, of: key)
            chunkSendings.append(ChunkSending(job: job, rows: rows, revision: revision))
            return .committed
        }
        if let job { machine.release(job) }
        for number in 0..<(summary.rows?.chunkCount ?? 0) {
            send(summary.rows.map { [StreamMachine<Work>.chunk(number, key, $0, revision)] } ?? [], of: key)
        }
        send(messages, of: key)
        return .committed
    }

    // MARK: Routes

    /// Takes in a route again whose stored track is unreadable, unless it is another one meanwhile.
    mutating func replaceRoute(_ route: StoredRoute, of key: SessionKey, _ now: Moment) {
        guard let session = machine.sessions[key], session.record.route == route else { return }
        context.logger.error("track unreadable, requesting it again", metadata: LogKey.session(key))
        machine.replaceRoute(route, of: session, now: now)
    }

    /// Requests missing chunks of the routes that sessions take in.
    mutating func requestTracks(_ now: Moment) {
        for key in machine.requestsDue(now: now) {
            let request = SessionRequest(id: CommandID(UUID()), client: context.configuration.client, action: .track)
            send([Topic.session(key, .request).message(JSONCoding.encode(request))], of: key)
        }
    }
}

/// Jobs, which compute folds and summaries of sessions with many items.
extension StreamLoop {
    /// Removes and returns the jobs to run. Their ends belong to a later event.
    package mutating func takeJobs() -> [StreamJob<Work>] {
        defer { jobs = [] }
        return jobs
    }

    mutating func startJobs(_ now: Moment) {
        jobs += machine.startJobs(now: now)
    }

    /// Publishes what a job computed, unless its session has left memory since.
    mutating func receiveJobEnd(_ end: StreamJob<Work>.End, _ now: Moment) async {
        let job = end.job
        guard let session = machine.end(end) else { return }
        switch (end.outcome, job.purpose) {
        case (.folded(let live), _):
            let isFirst = session.live == nil
            machine.adopt(live, end, now: now)
            if isFirst { acknowledgeStreams(of: session, now) }
        case (.finished(let results), .chunks):
            guard let summary = machine.repeatChunks(session, results, now: now) else { break }
            if await publish(summary, now, job) == .committed { return }
        case (.finished(let results), _):
            switch await publish(machine.summarize(session, results, now: now), now, job) {
            case .committed: return
            case .refused: machine.requestSummary(session, now)
            case .lost: break
            }
        case (.outdated, _):
            if let route = job.route, route == session.record.route {
                replaceRoute(route, of: job.key, now)
            } else {
                machine.retry(end, now: now)
            }
        case (.corrupt, _), (.failed, _):
            context.logger.error("item read failed, retrying", metadata: LogKey.session(job.key))
            machine.retry(end, now: now)
        }
        machine.release(job)
    }

    /// Sends the next chunks of sessions with many items. The last one frees the place of its job.
    mutating func sendChunks() {
        for index in chunkSendings.indices {
            let sending = chunkSendings[index]
            let count = min(StreamTimes.chunksAtOnce, sending.rows.chunkCount - sending.next)
            // Deleted, or of another owner.
            guard let session = machine.sessions[sending.job.key], session.job?.number == sending.job.number, count > 0
            else {
                machine.release(sending.job)
                chunkSendings[index].next = .max
                continue
            }
            let numbers = sending.next..<sending.next + count
            send(
                numbers.map { number in
                    StreamMachine<Work>.chunk(number, sending.job.key, sending.rows, sending.revision)
                }, of: sending.job.key)
            chunkSendings[index].next += count
        }
        chunkSendings.removeAll { $0.next == .max }
    }
}

/// The chunks of a session with many items go out a few at a time.
struct ChunkSending<Work: StreamWork> {
    let job: StreamJob<Work>
    let rows: FinalRows
    let revision: Int64
    var next = 0
}

extension Announcement {
    fileprivate init(_ kind: Kind, _ stretch: LiveStretch) {
        self.init(kind, at: stretch.at, number: stretch.number)
        duration = stretch.duration
        pace = stretch.pace
        averageHeartRate = stretch.averageHeartRate
    }
}
