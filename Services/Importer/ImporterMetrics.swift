import Bus
import Metrics
import ServiceKit

/// The service's metrics.
struct ImporterMetrics {
    private static let prefix = "pacebus_importer_"

    private let factory: PrometheusMetrics
    private let messages: Counter
    private let workouts: Counter
    private let unfinished: Meter

    init(_ factory: PrometheusMetrics) {
        self.factory = factory
        factory.describe(Self.help)
        factory.begin(Self.prefix + "rejected_total", "reason", Rejection.reasons)
        messages = Counter(label: Self.prefix + "messages_total", factory: factory)
        workouts = Counter(label: Self.prefix + "workouts_total", factory: factory)
        unfinished = Meter(label: Self.prefix + "imports_unfinished", factory: factory)
    }

    func received(_ count: Int) { messages.increment(by: count) }

    func rejected(_ reason: String) {
        Counter(label: Self.prefix + "rejected_total", dimensions: [("reason", reason)], factory: factory).increment()
    }

    func logged() { workouts.increment() }

    func show(_ machine: ImporterMachine) {
        unfinished.set(machine.entries.values.count { !$0.record.status.isOver })
    }

    private static let help = [
        prefix + "messages_total": "Messages received.",
        prefix + "rejected_total": "Rejected payloads, by reason.",
        prefix + "workouts_total": "Workouts logged.",
        prefix + "imports_unfinished": "Imports that are not over.",
    ]
}
