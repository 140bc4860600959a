import Metrics
import ServiceKit

/// The service's Prometheus metrics, besides those of `/mqtt`.
struct DashboardMetrics: Sendable {
    private static let prefix = "pacebus_dashboard_"

    private let factory: PrometheusMetrics
    private let loginsRefused: Counter

    init(_ factory: PrometheusMetrics) {
        self.factory = factory
        factory.describe([
            Self.prefix + "logins_refused_total": "Attempts to log in with a wrong name or password.",
            Self.prefix + "rejected_total": "Payloads rejected as invalid, by reason.",
        ])
        loginsRefused = Counter(label: Self.prefix + "logins_refused_total", factory: factory)
    }

    func loginRefused() { loginsRefused.increment() }

    func rejected(_ reason: String) {
        Counter(label: Self.prefix + "rejected_total", dimensions: [("reason", reason)], factory: factory).increment()
    }
}
