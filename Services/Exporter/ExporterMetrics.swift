import Bus
import Client
import Metrics
import ServiceKit
import Workouts

/// The service's metrics.
struct ExporterMetrics {
    private static let prefix = "pacebus_exporter_"

    private let factory: PrometheusMetrics
    private let messages: Counter
    private let time: Timer
    private let waiting: Meter
    private let working: Meter
    private let failed: Meter
    private let cached: Meter
    private let stored: Meter
    private let dailyBytes: Meter

    /// - Parameter targets: the configured ones.
    init(_ factory: PrometheusMetrics, targets: some Sequence<Target>) {
        self.factory = factory
        factory.describe(Self.help)
        factory.begin(Self.prefix + "rejected_total", "reason", Rejection.reasons)
        for target in targets {
            for outcome in ["delivered", "refused", "failed"] {
                _ = Counter(
                    label: Self.prefix + "deliveries_total",
                    dimensions: [("target", "\(target)"), ("outcome", outcome)],
                    factory: factory)
            }
        }
        messages = Counter(label: Self.prefix + "messages_total", factory: factory)
        time = Timer(label: Self.prefix + "delivery_seconds", factory: factory)
        waiting = Meter(label: Self.prefix + "workouts_waiting", factory: factory)
        working = Meter(label: Self.prefix + "workouts_underway", factory: factory)
        failed = Meter(label: Self.prefix + "exports_failed", factory: factory)
        cached = Meter(label: Self.prefix + "chunk_bytes", factory: factory)
        stored = Meter(label: Self.prefix + "chunk_file_bytes", factory: factory)
        dailyBytes = Meter(label: Self.prefix + "daily_bytes_highest", factory: factory)
    }

    func received(_ count: Int) {
        messages.increment(by: count)
    }

    func rejected(_ reason: String) {
        count("rejected_total", [("reason", reason)])
    }

    func ended(_ outcome: DeliveryOutcome) {
        time.record(duration: outcome.took)
        let name =
            switch outcome.delivery {
            case .delivered: "delivered"
            case .refused: "refused"
            case .failed: "failed"
            }
        count("deliveries_total", [("target", "\(outcome.target)"), ("outcome", name)])
    }

    func show(_ machine: ExporterMachine, _ collector: ChunkCollector) {
        waiting.set(machine.waiting.count)
        working.set(machine.working.count)
        failed.set(machine.entries.values.count { $0.record.jobs.contains { $0.status == .failed } })
        cached.set(collector.cachedBytes + collector.wantedBytes)
        stored.set(collector.fileBytes)
    }

    func quota(highest: Int) {
        dailyBytes.set(highest)
    }

    private func count(_ name: String, _ labels: [(String, String)]) {
        Counter(label: Self.prefix + name, dimensions: labels, factory: factory).increment()
    }

    private static let help = [
        prefix + "messages_total": "Messages received.",
        prefix + "rejected_total": "Rejected payloads, by reason.",
        prefix + "deliveries_total": "Deliveries, by target and outcome.",
        prefix + "delivery_seconds": "Time of a delivery: encoding, writing or sending.",
        prefix + "workouts_waiting": "Workouts that wait for a delivery.",
        prefix + "workouts_underway": "Workouts with a delivery in progress.",
        prefix + "exports_failed": "Workouts of the last 48 hours with a failed export.",
        prefix + "chunk_bytes": "Memory for chunks of series and tracks, in bytes.",
        prefix + "chunk_file_bytes": "Temporary files of chunks, in bytes.",
        prefix + "daily_bytes_highest": "Bytes exported today of the account with the most.",
    ]
}
