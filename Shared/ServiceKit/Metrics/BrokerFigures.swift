import Bus
import CoreMetrics
package import MQTT
import Synchronization

/// Publishes the broker's figures: the limits of its plugin in `pacebus_limited_total{limit}`, and mosquitto's own as gauges.
///
/// The plugin publishes retained totals by limit and account, and clears those of removed accounts.
package final class BrokerFigures: Sendable {
    /// Mosquitto's figures below `$SYS/broker/`, with the divisor that makes them rates per second.
    private static let figures: [(topic: String, label: String, help: String, divisor: Double)] = [
        ("clients/connected", "pacebus_broker_clients", "Connected clients.", 1),
        (
            "load/messages/received/1min", "pacebus_broker_messages_received_per_second",
            "Packets that the broker received, in the last minute.", 60
        ),
        (
            "load/messages/sent/1min", "pacebus_broker_messages_sent_per_second",
            "Packets that the broker sent, in the last minute.", 60
        ),
        ("store/messages/count", "pacebus_broker_stored_messages", "Messages in the broker's memory.", 1),
        ("uptime", "pacebus_broker_uptime_seconds", "Seconds since the broker's start.", 1),
    ]
    private static let prefix = "$SYS/broker/"

    /// The topics of mosquitto's figures. With several brokers, one gauge would mix theirs.
    package static let subscriptions = figures.map { MQTTSubscription(filter: prefix + $0.topic, qos: .atMostOnce) }

    private let metrics: PrometheusMetrics
    private let gauges = Mutex<[String: Meter]>([:])
    /// The last total of each topic.
    private let totals = Mutex<[String: Int]>([:])

    init(metrics: PrometheusMetrics) {
        self.metrics = metrics
    }

    /// Takes what is from the broker out of a batch and returns the rest, or `nil` when there is none.
    func observe(_ batch: MQTTBatch) -> MQTTBatch? {
        batch.removing("$SYS/") { messages in
            totals.withLock { totals in
                for message in messages where !show(message) { count(message, &totals) }
            }
        }
    }

    /// Shows one of mosquitto's figures, such as `17` or `86400 seconds`. Returns whether it is one.
    private func show(_ message: MQTTMessage) -> Bool {
        guard let figure = Self.figures.first(where: { Self.prefix + $0.topic == message.topic }) else { return false }
        let text = String(decoding: message.payload, as: UTF8.self).prefix { $0 != " " }
        guard let value = Double(text), value.isFinite else { return true }
        metrics.describe([figure.label: figure.help])
        gauges.withLock { gauges in
            let gauge = gauges[figure.label] ?? Meter(label: figure.label, factory: metrics)
            gauge.set(value / figure.divisor)
            gauges[figure.label] = gauge
        }
        return true
    }

    /// Removes mosquitto's figures: another process shows them from now on.
    func forget() {
        gauges.withLock { gauges in
            for gauge in gauges.values { gauge.destroy() }
            gauges = [:]
        }
    }

    private func count(_ message: MQTTMessage, _ totals: inout [String: Int]) {
        guard case .limited(let limit, _)? = Topic(message.topic),
            let total = Int(String(decoding: message.payload, as: UTF8.self))
        else {
            totals[message.topic] = nil
            return
        }
        let last = totals[message.topic] ?? 0
        totals[message.topic] = total
        // A restarted broker counts from 0.
        let new = total >= last ? total - last : total
        Counter(label: Limits.name, dimensions: [("limit", limit)], factory: metrics).increment(by: new)
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
