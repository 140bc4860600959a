import CoreMetrics
import Synchronization

/// A histogram with fixed bounds.
final class PrometheusHistogram: MetricSeries, RecorderHandler, TimerHandler {
    private struct State {
        /// One count per bound and one for values above all bounds; not cumulative.
        var counts: [UInt64]
        var sum = 0.0
    }

    let id: MetricID
    private let bounds: [Double]
    private let state: Mutex<State>

    init(_ id: MetricID, bounds: [Double]) {
        self.id = id
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    var samples: String {
        let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
        var total: UInt64 = 0
        var text = ""
        for (bound, count) in zip(bounds + [.infinity], counts) {
            total += count
            text += id.sample(
                Double(total), suffix: "_bucket", extraLabel: "le=\"\(PrometheusText.number(bound))\"")
        }
        return text + id.sample(sum, suffix: "_sum") + id.sample(Double(total), suffix: "_count")
    }
}
