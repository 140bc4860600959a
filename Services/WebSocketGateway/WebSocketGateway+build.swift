import MQTT
import ServiceKit

extension WebSocketGateway {
    /// - Throws: `SettingError` if the broker's URL is TLS.
    static func build(
        _ context: ServiceContext, _ gateway: GatewayConfiguration,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws -> GatewayService {
        guard context.configuration.mqtt.tls == nil else {
            throw SettingError(.mqttURL, "is TLS; the gateway connects to the plain port of a broker nearby: mqtt://…")
        }
        return GatewayService(context: context, gateway: gateway, onListening: onListening)
    }
}
