import Bus
import MQTT
import ServiceKit
import Workouts

extension StreamMachine {
    /// A record to commit and the messages to send afterwards. It takes effect with the commit.
    struct Summary {
        var record: StreamRecord<Work.Totals>
        /// Chunks, then the summary.
        var messages: [MQTTMessage]
    }

    /// The sessions with a due summary.
    func summariesDue(now: Moment) -> [SessionKey] {
        awaitingSummary.filter { sessions[$0]?.summaryDue.map { $0 <= now } ?? false }.sorted()
    }

    /// Computes the summary of a session from all its stored items.
    ///
    /// The revision changes only with the content. If only the state differs, the summary is published without chunks.
    mutating func summarize(_ key: SessionKey, _ streams: [Device: [Work.Item]], now: Moment) -> Summary? {
        awaitingSummary.remove(key)
        guard let session = sessions[key] else { return nil }
        session.summaryDue = nil
        session.summarizedAt = now
        let result = Work.finish(streams, of: session.state)
        var record = session.record
        let old = record.report
        var report = SummaryReport(
            revision: old?.revision ?? 0, state: session.state.revision, next: session.next,
            chunks: result.rows.chunkCount, totals: result.totals)
        var chunks: [MQTTMessage] = []
        if !report.hasSameContent(as: old) || report.revision < session.summaryTopic.revision {
            report.revision = session.summaryTopic.revise(now.wallClock)
            chunks = Self.chunks(key, result.rows, report)
        }
        record.report = report
        record.needsSummary = false
        return Summary(record: record, messages: chunks + [summaryMessage(key, report)])
    }

    /// The record is on disk and takes effect.
    mutating func adopt(_ summary: Summary) {
        sessions[summary.record.state.key]?.record = summary.record
    }

    /// Whether requested chunks may be published now: after a due summary, and within the rate limit.
    func mayRepeatChunks(_ key: SessionKey, now: Moment) -> Bool {
        guard !awaitingSummary.contains(key) else { return false }
        return sessions[key]?.repeatedAt.map { now.seconds(since: $0) >= StreamTimes.repetition } ?? true
    }

    /// Publishes the final chunks of a session again, on request.
    mutating func repeatChunks(_ key: SessionKey, _ streams: [Device: [Work.Item]], now: Moment) -> Summary? {
        guard let record = sessions[key]?.record, let report = record.report, !record.needsSummary else { return nil }
        sessions[key]?.repeatedAt = now
        let rows = Work.finish(streams, of: record.state).rows
        return Summary(record: record, messages: Self.chunks(key, rows, report) + [summaryMessage(key, report)])
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

    private static func chunks(_ key: SessionKey, _ rows: FinalRows, _ report: SummaryReport<Work.Totals>)
        -> [MQTTMessage]
    {
        (0..<report.chunks).map { number in
            Topic.session(key, Work.kind.chunk(number)).message(rows.payload(number: number, revision: report.revision))
        }
    }

    /// Clears the retained topics of a session.
    static func cleared(_ key: SessionKey) -> [MQTTMessage] {
        [Work.kind.live, Work.kind.summary].map { Topic.session(key, $0).message([]) }
    }
}

extension StreamMachine {
    /// The sessions with due live metrics: changed, and outside the rate limit.
    func liveDue(now: Moment) -> [SessionKey] {
        Array(
            withNews.filter { key in
                guard let session = sessions[key], session.isShown else { return true }
                return session.publishedAt.map { now.seconds(since: $0) >= StreamTimes.live } ?? true
            })
    }

    /// The live metrics of a session as of now; `nil` without any.
    ///
    /// - Parameter floor: a revision that an earlier process may have reached.
    mutating func liveMessage(_ key: SessionKey, now: Moment, floor: Int64) -> MQTTMessage? {
        withNews.remove(key)
        // A session just loaded has no live metrics until its fold.
        guard let session = sessions[key], session.isShown, let live = session.live else { return nil }
        session.isSilent = session.isSilent || session.becomesSilent(now)
        session.publishedAt = now
        let payload = live.payload(
            session.state,
            revision: session.liveTopic.revise(now.wallClock, above: max(floor, evicted[key.session.shard] ?? 0)),
            count: session.count,
            isSilent: session.isSilent)
        return Topic.session(key, Work.kind.live).message(payload)
    }
}
