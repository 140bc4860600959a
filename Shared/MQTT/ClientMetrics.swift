import CoreMetrics

/// What one client counts.
struct ClientMetrics {
    let reconnects = Counter(label: "pacebus_mqtt_reconnects_total")
    let received = Counter(label: "pacebus_mqtt_messages_received_total")
    let sent = Counter(label: "pacebus_mqtt_messages_sent_total")
    let publishFailures = Counter(label: "pacebus_mqtt_publish_failures_total")
    let droppedTooLarge = Counter(label: "pacebus_mqtt_messages_dropped_total", dimensions: [("reason", "too_large")])
    let droppedUnsubscribed = Counter(
        label: "pacebus_mqtt_messages_dropped_total", dimensions: [("reason", "unsubscribed")])
}
