import CoreMetrics

/// A value that goes up and down; the latest counts.
final class PrometheusGauge: MetricSeries, MeterHandler, RecorderHandler {
    let id: MetricID
    private let value = AtomicDouble()

    init(_ id: MetricID) {
        self.id = id
    }

    var samples: String { id.sample(value.value) }

    func set(_ value: Int64) { self.value.set(Double(value)) }
    func set(_ value: Double) { self.value.set(value) }
    func increment(by amount: Double) { value.add(amount) }
    func decrement(by amount: Double) { value.add(-amount) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
}
