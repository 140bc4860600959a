import ArgumentParser
import Foundation
import ServiceKit
import Workouts

@main
struct WebSocketGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "websocket-gateway",
        abstract: "Connects browsers, which speak MQTT over WebSocket, to the broker.", version: pacebusVersion)

    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var base: BaseOptions

    func run() async throws {
        let settings = try GatewayConfiguration.resolve(gateway, environment: ProcessInfo.processInfo.environment)
        try await ServiceRunner.run("websocket-gateway", base, connects: false) { context in
            [try Self.build(context, settings)]
        }
    }
}
