import Bus
import CoreMetrics
import MQTT
import Synchronization

/// Publishes the broker's figures: the limits of its plugin in `pacebus_limited_total{limit}`, and mosquitto's own as gauges.
///
/// The plugin publishes retained totals by limit and account, and clears those of removed accounts.
final class BrokerFigures: Sendable {
    private let metrics: PrometheusMetrics
    private let gauges = Mutex<[BrokerFigure: Meter]>([:])
    /// The last total of each topic.
    private let totals = Mutex<[String: Int]>([:])

    init(metrics: PrometheusMetrics) {
        self.metrics = metrics
    }

    /// Takes what is from the broker out of a batch and returns the rest, or `nil` when there is none.
    func observe(_ batch: MQTTBatch) -> MQTTBatch? {
        batch.removing(Topic.brokerPrefix) { messages in
            totals.withLock { totals in
                for message in messages where !show(message) { count(message, &totals) }
            }
        }
    }

    /// Shows one of mosquitto's figures. Returns whether it is one.
    private func show(_ message: MQTTMessage) -> Bool {
        guard let figure = BrokerFigure(topic: message.topic) else { return false }
        guard let value = BrokerFigure.value(message.payload) else { return true }
        metrics.describe([figure.label: figure.help])
        gauges.withLock { gauges in
            let gauge = gauges[figure] ?? Meter(label: figure.label, factory: metrics)
            gauge.set(value / figure.divisor)
            gauges[figure] = gauge
        }
        return true
    }

    /// Removes mosquitto's figures, and the totals to count from: another process has them from now on.
    func forget() {
        totals.withLock { $0 = [:] }
        gauges.withLock { gauges in
            for gauge in gauges.values { gauge.destroy() }
            gauges = [:]
        }
    }

    private func count(_ message: MQTTMessage, _ totals: inout [String: Int]) {
        guard case .limited(let limit, _)? = Topic(message.topic),
            let total = Int(String(decoding: message.payload, as: UTF8.self)), total >= 0
        else {
            totals[message.topic] = nil
            return
        }
        // What came before the first subscription was counted by another process, or before a restart.
        let last = totals[message.topic] ?? (message.retain ? total : 0)
        totals[message.topic] = total
        // A restarted broker counts from 0.
        let new = total >= last ? total - last : total
        Counter(label: Limits.name, dimensions: [("limit", limit)], factory: metrics).increment(by: new)
    }
}

extension BrokerFigure {
    fileprivate var label: String {
        switch self {
        case .clients: "pacebus_broker_clients"
        case .receivedPerMinute: "pacebus_broker_messages_received_per_second"
        case .sentPerMinute: "pacebus_broker_messages_sent_per_second"
        case .storedMessages: "pacebus_broker_stored_messages"
        case .uptime: "pacebus_broker_uptime_seconds"
        }
    }

    fileprivate var help: String {
        switch self {
        case .clients: "Connected clients."
        case .receivedPerMinute: "Packets that the broker received, in the last minute."
        case .sentPerMinute: "Packets that the broker sent, in the last minute."
        case .storedMessages: "Messages in the broker's memory."
        case .uptime: "Seconds since the broker's start."
        }
    }

    /// What makes it the figure of a second.
    fileprivate var divisor: Double {
        switch self {
        case .receivedPerMinute, .sentPerMinute: 60
        case .clients, .storedMessages, .uptime: 1
        }
    }
}

extension MQTTBatch {
    /// Passes the messages whose topics begin with `prefix` to `body` and returns the batch without them, or `nil` when
    /// nothing else was in it.
    func removing(_ prefix: String, _ body: ([MQTTMessage]) -> Void) -> MQTTBatch? {
        // By index, which copies no message: most batches have none.
        guard messages.indices.contains(where: { messages[$0].topic.hasPrefix(prefix) }) else { return self }
        body(messages.filter { $0.topic.hasPrefix(prefix) })
        let others = messages.filter { !$0.topic.hasPrefix(prefix) }
        guard !others.isEmpty else {
            finish()
            return nil
        }
        return MQTTBatch(messages: others) { finish() }
    }
}
