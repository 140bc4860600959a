import MQTT
import Testing

@testable import ServiceKit

@Suite struct BrokerFiguresTests {
    private let metrics = PrometheusMetrics()

    private func observe(_ figures: BrokerFigures, _ messages: (String, String)...) -> [String]? {
        let batch = MQTTBatch(
            messages: messages.map { MQTTMessage(topic: $0.0, payload: Array($0.1.utf8), qos: .atMostOnce) }
        ) {}
        return figures.observe(batch)?.messages.map(\.topic)
    }

    private func count(_ limit: String) -> String? {
        metrics.render().split(separator: "\n").first { $0.hasPrefix("pacebus_limited_total{limit=\"\(limit)\"} ") }
            .flatMap { $0.split(separator: " ").last.map(String.init) }
    }

    @Test func `totals of all accounts add up, also after a restart of the broker`() {
        let figures = BrokerFigures(metrics: metrics)
        #expect(
            observe(figures, ("$SYS/pacebus/limited/qos_2/ann", "3"), ("$SYS/pacebus/limited/qos_2/bob", "2")) == nil)
        #expect(count("qos_2") == "5")
        #expect(observe(figures, ("$SYS/pacebus/limited/qos_2/ann", "7"), ("other", "1")) == ["other"])
        #expect(count("qos_2") == "9")
        // The broker restarted, then the account was removed and added again.
        #expect(observe(figures, ("$SYS/pacebus/limited/qos_2/ann", "1")) == nil)
        #expect(count("qos_2") == "10")
        #expect(observe(figures, ("$SYS/pacebus/limited/qos_2/ann", "")) == nil)
        #expect(observe(figures, ("$SYS/pacebus/limited/qos_2/ann", "2")) == nil)
        #expect(count("qos_2") == "12")
        #expect(observe(figures, ("other", "1")) == ["other"])
    }

    @Test func `a total from before the first subscription counts nothing`() {
        let figures = BrokerFigures(metrics: metrics)
        let topic = "$SYS/pacebus/limited/qos_2/ann"
        func observe(_ total: String, isRetained: Bool) {
            let message = MQTTMessage(topic: topic, payload: Array(total.utf8), qos: .atMostOnce, retain: isRetained)
            _ = figures.observe(MQTTBatch(messages: [message]) {})
        }
        observe("900", isRetained: true)
        observe("903", isRetained: false)
        // After another connect.
        observe("904", isRetained: true)
        #expect(count("qos_2") == "4")
        // Another process counted meanwhile.
        figures.forget()
        observe("950", isRetained: true)
        #expect(count("qos_2") == "4")
    }

    @Test func `a total below zero counts nothing`() {
        let figures = BrokerFigures(metrics: metrics)
        let topic = "$SYS/pacebus/limited/qos_2/ann"
        #expect(observe(figures, (topic, "\(Int.min)"), (topic, "3"), (topic, "-5"), (topic, "2")) == nil)
        #expect(count("qos_2") == "5")
    }

    @Test func `what mosquitto says of itself becomes gauges, and what is no number changes nothing`() {
        let figures = BrokerFigures(metrics: metrics)
        #expect(
            observe(
                figures, ("$SYS/broker/clients/connected", "17"), ("$SYS/broker/load/messages/sent/1min", "90.00"),
                ("$SYS/broker/uptime", "86400 seconds"), ("$SYS/broker/clients/connected", "many"), ("other", "1"))
                == ["other"])
        let lines = metrics.render().split(separator: "\n")
        for line in [
            "pacebus_broker_clients 17.0", "pacebus_broker_messages_sent_per_second 1.5",
            "pacebus_broker_uptime_seconds 86400.0",
        ] {
            #expect(lines.contains { $0 == line || "\($0).0" == line })
        }
        figures.forget()
        #expect(!metrics.render().contains("\npacebus_broker_"))
    }
}
