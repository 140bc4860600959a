import Bus
import MQTT
import OrderedCollections
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
    func summariesDue(now: Moment, isLarge: Bool = false) -> [SessionKey] {
        awaitingSummary.filter { key in
            guard let session = sessions[key], session.isLarge == isLarge else { return false }
            return session.hasProfile && session.summaryDue.map { $0 <= now } ?? false
        }.sorted()
    }

    /// Schedules a summary: at once, or when the rate limit allows it.
    mutating func requestSummary(_ key: SessionKey, _ now: Moment) {
        guard let session = sessions[key], !isReplacingRoute(key, now: now), awaitingSummary.insert(key).inserted else {
            return
        }
        let interval =
            session.isLarge ? max(StreamTimes.longSummary, session.spacing(session.summaryCost)) : StreamTimes.summary
        session.summaryDue = max(now, session.summarizedAt.map { $0 + interval } ?? now)
        if session.awaitsRoute { session.summaryDue = now + StreamTimes.route }
    }

    /// The summary of a session from results of its stored items. If items or a state arrived since they were computed,
    /// another summary follows.
    ///
    /// The revision changes only with the content. If only the revisions of state or route differ, the summary is published
    /// without chunks.
    mutating func summarize(_ key: SessionKey, _ results: FinalResults<Work>, now: Moment) -> Summary? {
        awaitingSummary.remove(key)
        guard let session = sessions[key] else { return nil }
        session.summaryDue = nil
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
        if record.needsSummary { requestSummary(key, now) }
        return Summary(record: record, message: summaryMessage(key, report), rows: rows)
    }

    /// The record is on disk and takes effect.
    mutating func adopt(_ summary: Summary) {
        sessions[summary.record.state.key]?.record = summary.record
    }

    /// The sessions whose requested chunks may be published now: after a due summary, and within the rate limit.
    func chunksDue(_ requested: OrderedSet<SessionKey>, now: Moment, isLarge: Bool = false) -> [SessionKey] {
        requested.filter { key in
            guard let session = sessions[key] else { return !isLarge }
            guard session.isLarge == isLarge, !awaitingSummary.contains(key), !isReplacingRoute(key, now: now) else {
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
    mutating func repeatChunks(_ key: SessionKey, _ results: FinalResults<Work>, now: Moment) -> Summary? {
        guard let session = sessions[key] else { return nil }
        let record = session.record
        if session.isUnfinished {
            session.repeatedAt = now
            return Summary(record: record, message: nil, rows: results.rows)
        }
        guard let report = record.report, !record.needsSummary else { return nil }
        session.repeatedAt = now
        return Summary(record: record, message: summaryMessage(key, report), rows: results.rows)
    }

    /// The last summary, for a broker that may have lost it.
    mutating func knownSummary(_ key: SessionKey) -> MQTTMessage? {
        guard let report = sessions[key]?.record.report else { return nil }
        return summaryMessage(key, report)
    }

    /// Handles a revision of the summary on the bus. Returns whether to publish the last summary again.
    mutating func seeSummary(_ revision: Int64, of key: SessionKey, now: Moment) -> Bool {
        guard let session = sessions[key], session.record.report != nil else { return false }
        switch session.summaryTopic.see(revision, now.wallClock) {
        case .known: return false
        case .republish: return true
        case .revised:
            // The chunks carry the summary's revision, so both are computed again.
            requestSummary(key, now)
            return false
        }
    }

    private mutating func summaryMessage(_ key: SessionKey, _ report: SummaryReport<Work.Totals>) -> MQTTMessage {
        sessions[key]?.summaryTopic.published(report.revision)
        return Topic.session(key, Work.kind.summary).message(JSONCoding.encode(report))
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
        let due = withSplits.filter { key in
            guard let session = sessions[key], session.news.awaitsFold else { return true }
            return !stale.contains(key) && session.sinceFold == nil
        }
        withSplits.subtract(due)
        return due.compactMap { key in
            guard let session = sessions[key], session.isShown, let live = session.live else { return nil }
            return session.news.takeSplit(of: live, skews: session.skews, now: now).map { (session.state, $0) }
        }
    }

    /// Removes and returns the laps that just ended. A restart announces none again, because their state is stored.
    mutating func takeFinishedLaps(now: Moment) -> [(state: SessionState, lap: LiveStretch)] {
        var laps: [(state: SessionState, lap: LiveStretch)] = []
        for key in withLaps where !unsaved.contains(key) {
            guard let session = sessions[key], session.isShown else {
                withLaps.remove(key)
                continue
            }
            let ended = session.news.takeLaps(
                of: session.live, session.state, isStale: stale.contains(key), skews: session.skews, now: now)
            laps += ended.map { (session.state, $0) }
            if !session.news.hasLaps { withLaps.remove(key) }
        }
        return laps
    }

    /// The sessions with a due `heard`: their items are read, and it is outside the rate limit.
    func heardDue(now: Moment) -> [SessionKey] {
        awaitingHeard.filter { key in
            guard let session = sessions[key], session.heard != nil, session.isShown else { return false }
            return session.heardAt.map { now.seconds(since: $0) >= StreamTimes.live } ?? true
        }
    }

    /// What the service has stored of a session's items. A heard of a session without items says so.
    mutating func heardMessage(_ key: SessionKey, now: Moment, floor: Int64) -> MQTTMessage? {
        awaitingHeard.remove(key)
        guard let session = sessions[key], let items = session.heard else { return nil }
        session.heardAt = now
        session.unheardSince = nil
        let floor = max(floor, evicted[key.session.shard] ?? 0)
        var heard = Heard(revision: session.heardTopic.revise(now.wallClock, above: floor), count: session.count)
        heard.newest = items.times.newest
        heard.position = items.position
        heard.hasLiveMetrics = session.hasLiveMetrics
        session.reported = (heard.hasLiveMetrics, heard.position != nil)
        heard.clockSkew = session.record.clockSkew
        heard.silences = items.times.silences
        return Topic.session(key, Work.kind.heard).message(heard.payload)
    }
}
