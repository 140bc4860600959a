import Bus
import MQTT
import ServiceKit
import Workouts

extension StreamMachine {
    /// A record to commit and the messages to send afterwards. It takes effect with the commit.
    struct Summary {
        var record: StreamRecord<Work.Totals>
        /// `nil` for a session in progress, of which nothing is committed.
        let message: MQTTMessage?
        /// The rows of the chunks to publish.
        let rows: FinalRows?
    }

    /// The sessions with a due summary.
    mutating func summariesDue(now: Moment, isLarge: Bool = false) -> [OwnedSession<Work>] {
        schedule.sessions(with: .summary) {
            $0.job == nil && $0.summary.dueAt <= now && $0.isLarge == isLarge && $0.hasProfile
        }
    }

    /// Schedules a summary: at once, or when the rate limit allows it.
    mutating func requestSummary(_ session: OwnedSession<Work>, _ now: Moment) {
        guard !session.isReplacingRoute(now), schedule.add(.summary, to: session) else { return }
        session.summary.request(now, interval: session.isLarge ? StreamTimes.longSummary : StreamTimes.summary)
        if session.awaitsRoute { session.summary.dueAt = now + StreamTimes.route }
    }

    /// The summary of a session from results of its stored items. If items or a state arrived since they were computed,
    /// another summary follows.
    ///
    /// The revision changes only with the content. If only the revisions of state or route differ, the summary is published
    /// without chunks.
    mutating func summarize(_ session: OwnedSession<Work>, _ results: FinalResults<Work>, now: Moment) -> Summary {
        session.tasks.remove(.summary)
        session.summary.done(now)
        var record = session.record
        let old = record.report
        var report = SummaryReport(
            revision: old?.revision ?? 0, state: results.state, next: results.next,
            chunks: results.rows.chunkCount, route: results.route, gaps: results.gaps, outside: results.outside,
            totals: results.totals)
        var rows: FinalRows?
        if !report.hasSameContent(as: old) || report.revision < session.summaryTopic.revision {
            report.revision = session.summaryTopic.revise(now.wallClock)
            rows = results.rows
        }
        record.report = report
        record.needsSummary =
            results.state != session.state.revision || results.next != session.next
            || results.route != record.route?.revision || results.profile != session.profiled.profile
        if record.needsSummary { requestSummary(session, now) }
        return Summary(record: record, message: summaryMessage(session, report), rows: rows)
    }

    /// The record is on disk and takes effect.
    mutating func adopt(_ summary: Summary) {
        sessions[summary.record.state.key]?.record = summary.record
    }

    /// A client requests the chunks of a session. One that has ended without a summary publishes them with it.
    mutating func requestChunks(_ key: SessionKey) {
        guard let session = sessions[key], session.hasChunks else { return }
        schedule.add(.chunks, to: session)
    }

    /// The sessions whose requested chunks may be published now: after a due summary, and within the rate limit.
    mutating func chunksDue(now: Moment, isLarge: Bool = false) -> [OwnedSession<Work>] {
        schedule.sessions(with: .chunks) { session in
            guard session.isLarge == isLarge, !session.tasks.contains(.summary), !session.isReplacingRoute(now) else {
                return false
            }
            let isRested = session.repeatedAt.map { now.seconds(since: $0) >= StreamTimes.repetition } ?? true
            guard isLarge, let last = [session.repeatedAt, session.summary.doneAt].compactMap(\.self).max() else {
                return isRested
            }
            return isRested && now.seconds(since: last) >= session.summary.spacing
        }
    }

    /// The chunks of a session, on request: those of its summary again, or in progress those of the items until now.
    func repeatChunks(_ session: OwnedSession<Work>, _ results: FinalResults<Work>, now: Moment) -> Summary? {
        let record = session.record
        if session.isUnfinished {
            session.repeatedAt = now
            return Summary(record: record, message: nil, rows: results.rows)
        }
        guard let report = record.report, !record.needsSummary else { return nil }
        session.repeatedAt = now
        return Summary(record: record, message: summaryMessage(session, report), rows: results.rows)
    }

    /// The last summary, for a broker that may have lost it.
    func knownSummary(_ session: OwnedSession<Work>) -> MQTTMessage? {
        session.record.report.map { summaryMessage(session, $0) }
    }

    /// Handles a revision of the summary on the bus. Returns whether to publish the last summary again.
    mutating func seeSummary(_ revision: Int64, of session: OwnedSession<Work>, now: Moment) -> Bool {
        guard session.record.report != nil else { return false }
        switch session.summaryTopic.see(revision, now.wallClock) {
        case .known: return false
        case .republish: return true
        case .revised:
            // The chunks carry the summary's revision, so both are computed again.
            requestSummary(session, now)
            return false
        }
    }

    private func summaryMessage(
        _ session: OwnedSession<Work>, _ report: SummaryReport<Work.Totals>
    ) -> MQTTMessage {
        session.summaryTopic.published(report.revision)
        return Topic.session(session.state.key, Work.kind.summary).message(JSONCoding.encode(report))
    }

    static func chunk(_ number: Int, _ key: SessionKey, _ rows: FinalRows, _ revision: Int64) -> MQTTMessage {
        Topic.session(key, Work.kind.chunk(number)).message(rows.payload(number: number, revision: revision))
    }

    /// Clears the retained topics of a session.
    static func cleared(_ key: SessionKey) -> [MQTTMessage] {
        [Work.kind.live, Work.kind.heard, Work.kind.summary].map { Topic.session(key, $0).message([]) }
    }
}

/// Folds and summaries of sessions with many items run as jobs outside of the loop.
extension StreamMachine {
    /// Starts the due jobs whose turn it is.
    mutating func startJobs(now: Moment) -> [StreamJob<Work>] {
        guard turns.hasRoom else { return [] }
        let folds = foldsDue(now: now, isLarge: true).map { ($0, StreamJob<Work>.Purpose.fold(shown: $0.live)) }
        let summaries = summariesDue(now: now, isLarge: true).map { ($0, StreamJob<Work>.Purpose.summary) }
        let chunks = chunksDue(now: now, isLarge: true).map { ($0, StreamJob<Work>.Purpose.chunks) }
        // A user with a running job is not in turn.
        let due = (folds + summaries + chunks).filter { session, _ in !turns.hasJob(session.state.key.user) }
        let first = Dictionary(due.map { ($0.0.state.key.user, $0) }) { first, _ in first }
        var started: [StreamJob<Work>] = []
        for user in turns.queue(Set(first.keys)) {
            guard let (session, purpose) = first[user] else { continue }
            let items =
                session.hasAllStreams ? session.count + (session.route(for: purpose)?.rows ?? 0) : bounds.session
            // The first in turn waits for room, and the others for the first.
            guard let number = turns.begin(user, items: items) else { break }
            started.append(start(number, purpose, session, now))
        }
        return started
    }

    private mutating func start(
        _ number: Int, _ purpose: StreamJob<Work>.Purpose, _ session: OwnedSession<Work>, _ now: Moment
    ) -> StreamJob<Work> {
        session.job = RunningJob(number: number)
        switch purpose {
        case .fold:
            session.tasks.remove(.fold)
            session.job?.missed = []
        // A summary is awaited until the job ends.
        case .summary: break
        case .chunks:
            session.tasks.remove(.chunks)
            session.repeatedAt = now
        }
        return StreamJob(
            number: number, key: session.state.key, profiled: session.profiled, route: session.route(for: purpose),
            purpose: purpose, unsaved: session.unsavedChunks, startedAt: now.wallClock)
    }

    /// Loads the streams that a job read. Returns `nil` if the session has left memory since: then the result is void.
    mutating func end(_ end: StreamJob<Work>.End) -> OwnedSession<Work>? {
        guard let session = sessions[end.job.key], session.job?.number == end.job.number else {
            release(end.job)
            return nil
        }
        switch end.outcome {
        case .folded: session.fold.cost = end.cost
        case .finished: session.summary.cost = end.cost
        case .corrupt, .failed, .outdated: return session
        }
        session.loadMissing(end.streams)
        return session
    }

    /// The job has ended, and its results are published or void.
    mutating func release(_ job: StreamJob<Work>) {
        turns.end(job.number)
        guard let session = sessions[job.key], session.job?.number == job.number else { return }
        session.job = nil
    }

    /// Adopts the fold of a job and adds the items that were committed since. A fold over other segments is void.
    mutating func adopt(_ live: Work.Live, _ end: StreamJob<Work>.End, now: Moment) {
        guard let session = sessions[end.job.key] else { return }
        session.fold.done(now)
        let missed = session.job?.missed ?? []
        session.heard.items = end.heard
        for part in missed { session.heard.items?.addItems(part.items) }
        var live = live
        guard !Work.Live.isOther(session.profiled, than: end.job.profiled), live.follow(session.state) else {
            schedule.add(.fold, to: session)
            session.fold.request(now)
            return
        }
        if let shown = session.live { live.continueDisplay(of: shown) }
        for part in missed {
            let known = (end.streams[part.device]?.next ?? 0) - part.first
            live.addItems(
                Array(part.items.dropFirst(max(0, known))), from: part.device, segments: session.state.segments,
                now: now.wallClock)
        }
        show(live, session, now)
        if !live.isExact { requestFold(session, now) }
    }

    /// Schedules the work of a job again: at once in the loop if items are corrupt, else as another job.
    mutating func retry(_ end: StreamJob<Work>.End, now: Moment) {
        guard let session = sessions[end.job.key] else { return }
        if case .corrupt = end.outcome { session.isCorrupt = true }
        let due = session.isCorrupt ? now : now + StreamTimes.retry
        switch end.job.purpose {
        case .fold:
            schedule.add(.fold, to: session)
            session.fold.dueAt = due
        case .summary: session.summary.dueAt = due
        case .chunks: schedule.add(.chunks, to: session)
        }
    }
}
