import Metrics
import ServiceKit
import Synchronization

/// The metrics of the connections at `/mqtt`.
final class BusMetrics: Sendable {
    private static let prefix = "pacebus_websocket_"

    private let factory: PrometheusMetrics
    private let accepted: Counter
    private let connections: Meter
    private let open = Atomic(0)

    init(_ factory: PrometheusMetrics) {
        self.factory = factory
        factory.describe([
            Self.prefix + "accepted_total": "Accepted connections.",
            Self.prefix + "connections": "Open connections.",
            Self.prefix + "refused_total":
                "Connections that were refused or closed before the broker received them, by reason.",
        ])
        accepted = Counter(label: Self.prefix + "accepted_total", factory: factory)
        connections = Meter(label: Self.prefix + "connections", factory: factory)
    }

    func opened() {
        accepted.increment()
        connections.set(open.add(1, ordering: .relaxed).newValue)
    }

    func closed() {
        connections.set(open.subtract(1, ordering: .relaxed).newValue)
    }

    func refused(_ reason: StaticString) {
        Counter(label: Self.prefix + "refused_total", dimensions: [("reason", "\(reason)")], factory: factory)
            .increment()
    }
}
