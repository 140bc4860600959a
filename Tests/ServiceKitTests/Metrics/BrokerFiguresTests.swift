import MQTT
import Testing

@testable import ServiceKit

@Suite struct BrokerLimitsTests {
    private let metrics = PrometheusMetrics()

    private func observe(_ limits: BrokerLimits, _ messages: (String, String)...) -> [String]? {
        let batch = MQTTBatch(
            messages: messages.map { MQTTMessage(topic: $0.0, payload: Array($0.1.utf8), qos: .atMostOnce) }
        ) {}
        return limits.observe(batch)?.messages.map(\.topic)
    }

    private func count(_ limit: String) -> String? {
        metrics.render().split(separator: "\n").first { $0.hasPrefix("pacebus_limited_total{limit=\"\(limit)\"} ") }
            .flatMap { $0.split(separator: " ").last.map(String.init) }
    }

    @Test func `totals of all accounts add up, also after a restart of the broker`() {
        let limits = BrokerLimits(metrics: metrics)
        #expect(
            observe(limits, ("$SYS/pacebus/limited/qos_2/ann", "3"), ("$SYS/pacebus/limited/qos_2/bob", "2")) == nil)
        #expect(count("qos_2") == "5")
        #expect(observe(limits, ("$SYS/pacebus/limited/qos_2/ann", "7"), ("other", "1")) == ["other"])
        #expect(count("qos_2") == "9")
        // The broker restarted, then the account was removed and added again.
        #expect(observe(limits, ("$SYS/pacebus/limited/qos_2/ann", "1")) == nil)
        #expect(count("qos_2") == "10")
        #expect(observe(limits, ("$SYS/pacebus/limited/qos_2/ann", "")) == nil)
        #expect(observe(limits, ("$SYS/pacebus/limited/qos_2/ann", "2")) == nil)
        #expect(count("qos_2") == "12")
        #expect(observe(limits, ("other", "1")) == ["other"])
    }
}
