import Bus
import Metrics
import ServiceKit
import Synchronization

/// The service's Prometheus metrics.
final class DashboardMetrics: Sendable {
    private let factory: PrometheusMetrics
    private let connections: Meter
    private let open = Atomic(0)

    init(_ factory: PrometheusMetrics) {
        self.factory = factory
        factory.describe([
            "pacebus_dashboard_logins_refused_total": "Attempts to log in with a wrong name or password.",
            "pacebus_dashboard_rejected_total": "Payloads rejected as invalid, by reason.",
            "pacebus_websocket_accepted_total": "Accepted connections.",
            "pacebus_websocket_connections": "Open connections.",
            "pacebus_websocket_refused_total":
                "Connections that were refused or closed before the broker received them, by reason.",
        ])
        // From the start, so that the first increment shows.
        for label in ["pacebus_dashboard_logins_refused_total", "pacebus_websocket_accepted_total"] {
            _ = Counter(label: label, factory: factory)
        }
        factory.begin("pacebus_dashboard_rejected_total", "reason", Rejection.reasons)
        connections = Meter(label: "pacebus_websocket_connections", factory: factory)
    }

    func loginRefused() { increment("pacebus_dashboard_logins_refused_total") }

    func rejected(_ reason: String) { increment("pacebus_dashboard_rejected_total", reason) }

    func opened() {
        increment("pacebus_websocket_accepted_total")
        connections.set(open.add(1, ordering: .relaxed).newValue)
    }

    func closed() { connections.set(open.subtract(1, ordering: .relaxed).newValue) }

    func refused(_ reason: StaticString) { increment("pacebus_websocket_refused_total", "\(reason)") }

    private func increment(_ label: String, _ reason: String? = nil) {
        Counter(label: label, dimensions: reason.map { [("reason", $0)] } ?? [], factory: factory).increment()
    }
}
