import CoreMetrics
import Synchronization

/// A gauge: the last value set.
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

/// A counter. Integers and fractions are stored separately, so that counting is one atomic addition.
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

/// A lock-free floating-point number.
struct AtomicDouble: ~Copyable, Sendable {
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    func add(_ amount: Double) {
        var seen = bits.load(ordering: .relaxed)
        while true {
            let sum = Double(bitPattern: seen) + amount
            let (exchanged, original) = bits.weakCompareExchange(
                expected: seen, desired: sum.bitPattern, ordering: .relaxed)
            if exchanged { return }
            seen = original
        }
    }
}
