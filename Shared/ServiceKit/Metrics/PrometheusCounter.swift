import CoreMetrics
import Synchronization

/// A sum that only grows. Whole amounts and fractions are kept apart, so that counting is one atomic addition.
final class PrometheusCounter: MetricSeries, CounterHandler, FloatingPointCounterHandler {
    let id: MetricID
    private let whole = Atomic<Int64>(0)
    private let fractions = AtomicDouble()

    init(_ id: MetricID) {
        self.id = id
    }

    var samples: String { id.sample(Double(whole.load(ordering: .relaxed)) + fractions.value) }

    func increment(by amount: Int64) {
        whole.wrappingAdd(amount, ordering: .relaxed)
    }

    func increment(by amount: Double) {
        fractions.add(amount)
    }

    func reset() {
        whole.store(0, ordering: .relaxed)
        fractions.set(0)
    }
}
