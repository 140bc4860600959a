import CoreMetrics
package import MQTT
import Synchronization

/// Adds the limits of the broker's plugin to `pacebus_limited_total{limit}`.
///
/// The plugin publishes retained totals by limit and account on `$SYS/pacebus/limited/{limit}/{account}`, and clears those
/// of removed accounts.
package final class BrokerLimits: Sendable {
    private static let prefix = "$SYS/pacebus/limited/"
    package static let subscription = MQTTSubscription(filter: prefix + "+/+", qos: .atLeastOnce)

    private let metrics: PrometheusMetrics
    /// The last total of each topic.
    private let totals = Mutex<[String: Int]>([:])

    init(metrics: PrometheusMetrics) {
        self.metrics = metrics
    }

    /// Counts the totals in a batch and returns the batch without them, or `nil` when nothing else was in it.
    func observe(_ batch: MQTTBatch) -> MQTTBatch? {
        batch.removing(Self.prefix) { messages in
            totals.withLock { totals in
                for message in messages { count(message, &totals) }
            }
        }
    }

    private func count(_ message: MQTTMessage, _ totals: inout [String: Int]) {
        let levels = message.topic.dropFirst(Self.prefix.count).split(separator: "/")
        guard levels.count == 2, let total = Int(String(decoding: message.payload, as: UTF8.self)) else {
            totals[message.topic] = nil
            return
        }
        let last = totals[message.topic] ?? 0
        totals[message.topic] = total
        // A restarted broker counts from 0.
        let new = total >= last ? total - last : total
        Counter(label: Limits.name, dimensions: [("limit", String(levels[0]))], factory: metrics).increment(by: new)
    }
}

extension MQTTBatch {
    /// Passes the messages whose topics begin with `prefix` to `body` and returns the batch without them, or `nil` when
    /// nothing else was in it.
    func removing(_ prefix: String, _ body: ([MQTTMessage]) -> Void) -> MQTTBatch? {
        let removed = messages.filter { $0.topic.hasPrefix(prefix) }
        guard !removed.isEmpty else { return self }
        body(removed)
        let others = messages.filter { !$0.topic.hasPrefix(prefix) }
        guard !others.isEmpty else {
            acknowledge()
            return nil
        }
        return MQTTBatch(messages: others) { acknowledge() }
    }
}
