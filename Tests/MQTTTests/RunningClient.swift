import Foundation
import MQTT
import ServiceLifecycle
import TestSupport

/// A configuration for a test's broker: loopback, short delays.
func testConfiguration(
    port: UInt16, version: MQTTConfiguration.Version = .v5, clientID: String = "test-\(UUID().uuidString)"
) -> MQTTConfiguration {
    var configuration = MQTTConfiguration(clientID: clientID)
    configuration.port = port
    configuration.version = version
    configuration.backoffMinimum = .milliseconds(10)
    configuration.backoffMaximum = .milliseconds(100)
    // As services do.
    configuration.readInterval = configuration.batchInterval / 4
    // A busy machine may start the test's other half seconds later.
    configuration.connectTimeout = .seconds(60)
    return configuration
}

/// Runs the client as a service during `body`, then shuts it down gracefully.
func withRunning<R: Sendable>(
    _ client: MQTTClient, _ body: (MQTTClient) async throws -> R
) async throws -> R {
    let group = ServiceGroup(services: [client], logger: .silent)
    return try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        let result = try await body(client)
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
        return result
    }
}

func withRunningClient<R: Sendable>(
    _ configuration: MQTTConfiguration, _ body: (MQTTClient) async throws -> R
) async throws -> R {
    try await withRunning(MQTTClient(configuration: configuration, logger: .silent), body)
}
