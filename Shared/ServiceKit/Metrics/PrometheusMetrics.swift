package import CoreMetrics
import Synchronization

/// Collects the process' metrics and renders them for Prometheus.
///
/// Characters that Prometheus does not accept in names become `_`; a counter ends in `_total`, a timer in
/// `_seconds`. Two instruments with the same name and dimensions share one series. Counters and gauges are atomic
/// words, timers and recorders histograms behind a short lock. Using a name for two kinds, or a counter's for another kind,
/// is a programming error and traps.
package final class PrometheusMetrics: MetricsFactory {
    /// Upper bounds in seconds, from a commit on a fast disk to a lost connection.
    static let timerBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2.5, 5, 10, 60]
    /// Upper bounds of counts and sizes: items per batch, bytes per payload.
    static let recorderBounds = [1.0, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000]

    private struct State {
        var families: [String: MetricFamily] = [:]
        var help = ProcessMetrics.help
        var collectors: [@Sendable () -> [String: Double]] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Registers help texts by rendered metric name. A metric without one gets the words of its name.
    package func describe(_ help: [String: String]) {
        state.withLock { $0.help.merge(help) { $1 } }
    }

    /// Adds gauges by name, read each time that the metrics are rendered.
    package func collect(_ gauges: @escaping @Sendable () -> [String: Double]) {
        state.withLock { $0.collectors.append(gauges) }
    }

    /// Renders all metrics in Prometheus' text format 0.0.4: families sorted by name, series by labels.
    package func render() -> String {
        let (registered, help, collectors) = state.withLock { ($0.families, $0.help, $0.collectors) }
        var families = registered.merging(ProcessMetrics.read()) { $1 }
        for (name, value) in collectors.flatMap({ $0() }) { families[name] = ProcessMetrics.gauge(name, value) }
        return families.sorted { $0.key < $1.key }.map { name, family in
            family.rendered(name, help: help[name] ?? PrometheusText.words(of: name))
        }.joined()
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        counter(label, dimensions)
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        counter(label, dimensions)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, suffix: "", dimensions, .gauge) { PrometheusGauge($0) }
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return series(label, suffix: "", dimensions, .gauge) { PrometheusGauge($0) } }
        return series(label, suffix: "", dimensions, .histogram) {
            PrometheusHistogram($0, bounds: PrometheusMetrics.recorderBounds)
        }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, suffix: "_seconds", dimensions, .histogram) {
            PrometheusHistogram($0, bounds: PrometheusMetrics.timerBounds)
        }
    }

    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    private func counter(_ label: String, _ dimensions: [(String, String)]) -> PrometheusCounter {
        series(label, suffix: "_total", dimensions, .counter) { PrometheusCounter($0) }
    }

    private func series<Series: MetricSeries>(
        _ label: String, suffix: String, _ dimensions: [(String, String)], _ kind: MetricFamily.Kind,
        make: (MetricID) -> Series
    ) -> Series {
        let id = MetricID(
            name: PrometheusText.name(label, suffix: suffix), labels: PrometheusText.labels(dimensions))
        return state.withLock { state in
            var family = state.families[id.name] ?? MetricFamily(kind: kind)
            if let known = family.series[id.labels] as? Series { return known }
            precondition(family.kind == kind, "\(id.name) is a \(family.kind.rawValue) already")
            precondition(kind == .counter || !id.name.hasSuffix("_total"), "\(id.name) has a counter's name")
            let new = make(id)
            family.series[id.labels] = new
            state.families[id.name] = family
            return new
        }
    }

    private func remove(_ handler: any AnyObject) {
        guard let id = (handler as? any MetricSeries)?.id else { return }
        state.withLock { state in
            state.families[id.name]?.series[id.labels] = nil
            if state.families[id.name]?.series.isEmpty == true { state.families[id.name] = nil }
        }
    }
}

extension PrometheusMetrics {
    /// Begins a counter of each value at 0. `increase()` ignores the first value of a series.
    package func begin(_ label: String, _ dimension: String, _ values: some Sequence<String>) {
        for value in values { _ = Counter(label: label, dimensions: [(dimension, value)], factory: self) }
    }
}

/// Help texts of the MQTT module's metrics.
enum MQTTMetricsHelp {
    static let texts = [
        "pacebus_mqtt_messages_dropped_total": "Messages dropped after reading or before sending, by reason.",
        "pacebus_mqtt_messages_received_total": "Messages received from the broker.",
        "pacebus_mqtt_messages_sent_total": "Messages published to the broker.",
        "pacebus_mqtt_publish_failures_total": "Messages that the broker refused or that could not be sent.",
        "pacebus_mqtt_reconnects_total": "Connections to the broker after the first.",
    ]
}
