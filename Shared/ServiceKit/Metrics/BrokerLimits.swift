import Bus
import CoreMetrics
import MQTT
import Synchronization

/// Adds the limits of the broker's plugin to `pacebus_limited_total{limit}`.
///
/// The plugin publishes retained totals by limit and account, and clears those of removed accounts.
package final class BrokerLimits: Sendable {
    private let metrics: PrometheusMetrics
    /// The last total of each topic.
    private let totals = Mutex<[String: Int]>([:])

    init(metrics: PrometheusMetrics) {
        self.metrics = metrics
    }

    /// Counts the totals in a batch and returns the batch without them, or `nil` when nothing else was in it.
    func observe(_ batch: MQTTBatch) -> MQTTBatch? {
        batch.removing(Topic.limitPrefix) { messages in
            totals.withLock { totals in
                for message in messages { count(message, &totals) }
            }
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
