import Bus
import Metrics
import ServiceKit
import Workouts

/// The service's Prometheus metrics.
struct SessionEngineMetrics {
    private static let prefix = "pacebus_engine_"

    private let factory: PrometheusMetrics
    private let messages: Counter
    private let accepted: Counter
    private let commitWrites: Recorder
    private let commitTime: Timer
    private let sessions: [SessionStatus: Meter]
    private let pendingBytes: Meter
    private let pendingDropped: RisingCounter
    private let revisionLead: Meter

    init(_ factory: PrometheusMetrics) {
        self.factory = factory
        factory.describe(Self.help)
        factory.begin(Self.prefix + "rejected_total", "reason", Rejection.reasons)
        messages = Counter(label: Self.prefix + "messages_total", factory: factory)
        accepted = Counter(label: Self.prefix + "accepted_total", factory: factory)
        commitWrites = Recorder(label: Self.prefix + "commit_writes", factory: factory)
        commitTime = Timer(label: Self.prefix + "commit_seconds", factory: factory)
        sessions = Dictionary(
            uniqueKeysWithValues: SessionStatus.allCases.map { status in
                let dimensions = [("status", status.rawValue)]
                return (status, Meter(label: Self.prefix + "sessions", dimensions: dimensions, factory: factory))
            })
        pendingBytes = Meter(label: Self.prefix + "pending_bytes", factory: factory)
        pendingDropped = RisingCounter(Self.prefix + "pending_dropped_total", factory)
        revisionLead = Meter(label: RevisionCeiling.leadLabel, factory: factory)
    }

    func received(_ count: Int) {
        messages.increment(by: count)
    }

    /// Counts an answered command or request. Refusal codes are a fixed set, so labels are bounded.
    func answered(_ refusal: Refusal?) {
        guard let refusal else { return accepted.increment() }
        count("refused_total", "code", refusal.code)
    }

    func rejected(_ reason: String) {
        count("rejected_total", "reason", reason)
    }

    func committed(_ writes: Int, took duration: Duration) {
        commitWrites.record(writes)
        commitTime.record(duration: duration)
    }

    func showLead(_ seconds: Double) { revisionLead.set(seconds) }

    func show(_ counts: [SessionStatus: Int], _ pending: PendingBuffer<Shard>) {
        for (status, meter) in sessions { meter.set(counts[status] ?? 0) }
        pendingBytes.set(pending.bytes)
        pendingDropped.rise(to: pending.overflowed)
    }

    private func count(_ name: String, _ label: String, _ value: String) {
        Counter(label: Self.prefix + name, dimensions: [(label, value)], factory: factory).increment()
    }

    private static let help = [
        RevisionCeiling.leadLabel: RevisionCeiling.leadHelp,
        prefix + "messages_total": "Messages handled.",
        prefix + "accepted_total": "Commands and requests accepted, including repeats.",
        prefix + "refused_total": "Commands and requests refused, by error code.",
        prefix + "rejected_total": "Payloads rejected as invalid, by reason.",
        prefix + "commit_writes": "Records written per commit.",
        prefix + "commit_seconds": "Duration of a commit, in seconds.",
        prefix + "sessions": "Sessions in memory, by status.",
        prefix + "pending_bytes": "Commands and requests kept for 10 s for another process's users, in bytes.",
        prefix + "pending_dropped_total": "Commands and requests for another process's users that did not fit.",
    ]
}
