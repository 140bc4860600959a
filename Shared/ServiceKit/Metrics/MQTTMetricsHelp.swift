/// What the metrics of the MQTT module mean.
enum MQTTMetricsHelp {
    static let texts = [
        "pacebus_mqtt_messages_dropped_total": "Received messages that were dropped, by reason.",
        "pacebus_mqtt_messages_received_total": "Messages received from the broker.",
        "pacebus_mqtt_messages_sent_total": "Messages published to the broker.",
        "pacebus_mqtt_publish_failures_total": "Messages that the broker refused or that never reached it.",
        "pacebus_mqtt_reconnects_total": "Connections to the broker after the first.",
    ]
}
