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
        schedule.sessions(with: .summary).filter {
            $0.job == nil && $0.summaryAt <= now && $0.isLarge == isLarge && $0.hasProfile
        }
    }

    /// Schedules a summary: at once, or when the rate limit allows it.
    mutating func requestSummary(_ session: OwnedSession<Work>, _ now: Moment) {
        guard !session.isReplacingRoute(now), schedule.add(.summary, to: session) else { return }
        let interval =
            session.isLarge ? max(StreamTimes.longSummary, session.spacing(session.summaryCost)) : StreamTimes.summary
        session.summaryAt = max(now, session.summarizedAt.map { $0 + interval } ?? now)
        if session.awaitsRoute { session.summaryAt = now + StreamTimes.route }
    }

    /// The summary of a session from results of its stored items. If items or a state arrived since they were computed,
    /// another summary follows.
    ///
    /// The revision changes only with the content. If only the revisions of state or route differ, the summary is published
    /// without chunks.
    mutating func summarize(_ session: OwnedSession<Work>, _ results: FinalResults<Work>, now: Moment) -> Summary {
        session.tasks.remove(.summary)
        session.summarizedAt = now
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
        schedule.sessions(with: .chunks).filter { session in
            guard session.isLarge == isLarge, !session.tasks.contains(.summary), !session.isReplacingRoute(now) else {
                return false
            }
            let isRested = session.repeatedAt.map { now.seconds(since: $0) >= StreamTimes.repetition } ?? true
            guard isLarge, let last = [session.repeatedAt, session.summarizedAt].compactMap(\.self).max() else {
                return isRested
            }
            return isRested && now.seconds(since: last) >= session.spacing(session.summaryCost)
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

extension StreamMachine {
    /// Removes and returns the splits that were just completed.
    mutating func takeFinishedSplits(now: Moment) -> [(state: SessionState, split: LiveStretch)] {
        let due = schedule.take(.splits) { session in
            !session.news.awaitsFold || !session.tasks.contains(.fold) && session.sinceFold == nil
        }
        return due.compactMap { session in
            guard session.isShown, let live = session.live else { return nil }
            return session.news.takeSplit(of: live, skews: session.skews, now: now).map { (session.state, $0) }
        }
    }

    /// Removes and returns the laps that just ended. A restart announces none again, because their state is stored.
    mutating func takeFinishedLaps(now: Moment) -> [(state: SessionState, lap: LiveStretch)] {
        var laps: [(state: SessionState, lap: LiveStretch)] = []
        for session in schedule.sessions(with: .laps) where !session.tasks.contains(.record) {
            let ended = session.news.takeLaps(
                of: session.live, session.state, isStale: session.tasks.contains(.fold), skews: session.skews, now: now)
            laps += ended.map { (session.state, $0) }
            if !session.news.hasLaps { session.tasks.remove(.laps) }
        }
        return laps
    }

    /// The sessions with a due `heard`: their items are read, and it is outside the rate limit.
    mutating func heardDue(now: Moment) -> [OwnedSession<Work>] {
        schedule.sessions(with: .heard).filter { session in
            guard session.heard != nil, session.isShown else { return false }
            return session.heardAt.map { now.seconds(since: $0) >= StreamTimes.live } ?? true
        }
    }

    /// What the service has stored of a session's items. A heard of a session without items says so.
    func heardMessage(_ session: OwnedSession<Work>, now: Moment, floor: Int64) -> MQTTMessage? {
        // Lost to another process, or its items are not read.
        guard isKept(session), let items = session.heard else { return nil }
        session.tasks.remove(.heard)
        session.heardAt = now
        session.unheardSince = nil
        let floor = max(floor, evicted[session.state.session.shard] ?? 0)
        var heard = Heard(revision: session.heardTopic.revise(now.wallClock, above: floor), count: session.count)
        heard.newest = items.times.newest
        heard.position = items.position
        heard.hasLiveMetrics = session.hasLiveMetrics
        session.reported = (heard.hasLiveMetrics, heard.position != nil)
        heard.clockSkew = session.record.clockSkew
        heard.silences = items.times.silences
        return Topic.session(session.state.key, Work.kind.heard).message(heard.payload)
    }
}
