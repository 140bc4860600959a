import MQTT
import ServiceKit

extension WebSocketGateway {
    /// - Throws: `SettingError` if the broker's URL is TLS or names several brokers.
    static func build(
        _ context: ServiceContext, _ gateway: GatewayConfiguration,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws -> GatewayService {
        guard context.configuration.mqtt.tls == nil else {
            throw SettingError(.mqttURL, "is TLS; the gateway connects to the plain port of a broker nearby: mqtt://…")
        }
        guard context.configuration.mqtt.otherPartitions.isEmpty else {
            throw SettingError(
                .mqttURL,
                "names several brokers; the gateway connects to one address, such as that of HAProxy before them")
        }
        return GatewayService(context: context, gateway: gateway, onListening: onListening)
    }
}
