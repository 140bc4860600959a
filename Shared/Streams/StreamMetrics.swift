import Bus
import Metrics
import ServiceKit
import Workouts

/// The service's metrics, updated once a batch.
struct StreamMetrics {
    private let items: Counter
    private let messages: Counter
    private let rejections: [String: Counter]
    private let commitItems: Recorder
    private let commitTime: Timer
    private let lag: Timer
    private let sessions: [SessionStatus: Meter]
    private let waitingBytes: Meter
    private let waitingDropped: RisingCounter
    private let journalBytes: Meter
    private let journalAge: Meter
    private let dailyItems: Meter
    private let revisionLead: Meter

    /// - Parameter prefix: the start of each name.
    init(_ factory: PrometheusMetrics, prefix: String) {
        factory.describe(Self.help(prefix))
        items = Counter(label: prefix + "items_total", factory: factory)
        messages = Counter(label: prefix + "messages_total", factory: factory)
        rejections = Dictionary(
            uniqueKeysWithValues: Rejection.reasons.map { reason in
                (
                    reason,
                    Counter(label: prefix + "rejected_total", dimensions: [("reason", reason)], factory: factory)
                )
            })
        commitItems = Recorder(label: prefix + "commit_items", factory: factory)
        commitTime = Timer(label: prefix + "commit_seconds", factory: factory)
        lag = Timer(label: prefix + "ack_lag_seconds", factory: factory)
        sessions = Dictionary(
            uniqueKeysWithValues: SessionStatus.allCases.map { status in
                (
                    status,
                    Meter(label: prefix + "sessions", dimensions: [("status", status.rawValue)], factory: factory)
                )
            })
        waitingBytes = Meter(label: prefix + "waiting_bytes", factory: factory)
        waitingDropped = RisingCounter(prefix + "waiting_dropped_total", factory)
        journalBytes = Meter(label: prefix + "journal_bytes", factory: factory)
        journalAge = Meter(label: prefix + "journal_age_seconds", factory: factory)
        dailyItems = Meter(label: prefix + "daily_items_highest", factory: factory)
        revisionLead = Meter(label: RevisionCeiling.leadLabel, factory: factory)
    }

    func batch(messages count: Int, took duration: Duration) {
        messages.increment(by: count)
        lag.record(duration: duration)
    }

    func commit(items count: Int, took duration: Duration) {
        items.increment(by: count)
        if count > 0 { commitItems.record(count) }
        commitTime.record(duration: duration)
    }

    func rejected(_ reason: String) {
        rejections[reason]?.increment()
    }

    func show(_ counts: [SessionStatus: Int], _ pending: PendingBuffer<SessionKey>) {
        for (status, meter) in sessions { meter.set(counts[status] ?? 0) }
        waitingBytes.set(pending.bytes)
        waitingDropped.rise(to: pending.overflowed + pending.expired)
    }

    /// - Parameter age: of the oldest item that is in no chunk.
    func journal(_ bytes: Int, _ age: Double?) {
        journalBytes.set(bytes)
        journalAge.set(age ?? 0)
    }

    func showLead(_ seconds: Double) {
        revisionLead.set(seconds)
    }

    func quota(highest: Int) {
        dailyItems.set(highest)
    }

    private static func help(_ prefix: String) -> [String: String] {
        [
            prefix + "items_total": "Stored items.",
            prefix + "messages_total": "Handled messages.",
            prefix + "rejected_total": "Rejected payloads, wholly or in part, by reason.",
            prefix + "commit_items": "Items of a commit.",
            prefix + "commit_seconds": "Duration of a commit.",
            prefix + "ack_lag_seconds": "Delay from receiving a batch of messages to sending its acknowledgements.",
            prefix + "sessions": "Sessions in memory, by status.",
            prefix + "waiting_bytes": "Pending batches of sessions without a state, in bytes.",
            prefix + "waiting_dropped_total": "Dropped batches of sessions without a state.",
            prefix + "journal_bytes": "Items in the journal, in bytes.",
            prefix + "journal_age_seconds": "Age of the oldest item that only the journal has.",
            RevisionCeiling.leadLabel: RevisionCeiling.leadHelp,
            prefix + "daily_items_highest": "Items stored today of the account with the most.",
        ]
    }
}
