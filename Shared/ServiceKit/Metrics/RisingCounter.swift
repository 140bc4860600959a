import CoreMetrics
import Synchronization

/// A counter of a total that another type counts.
package final class RisingCounter: Sendable {
    private let counter: Counter
    private let counted = Mutex(0)

    package init(_ label: String, _ factory: PrometheusMetrics) {
        counter = Counter(label: label, factory: factory)
    }

    /// Counts what the total has grown by.
    package func rise(to total: Int) {
        let growth = counted.withLock { counted in
            defer { counted = max(counted, total) }
            return total - counted
        }
        if growth > 0 { counter.increment(by: growth) }
    }
}
