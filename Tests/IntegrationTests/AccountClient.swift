import Foundation
import MQTT
import ServiceLifecycle
import Synchronization
import TestSupport

/// One account's connection to a broker: the topics that it may read and write.
final class AccountClient: Sendable {
    let account: String
    private let client: MQTTClient
    private let state = Mutex(State())

    private struct State {
        var retained: Set<String> = []
        var live: Set<String> = []
        var payloads: [String: [[UInt8]]] = [:]
        var isSubscribed = false
        var disconnects = 0
    }

    init(_ account: String, _ password: Secret, port: UInt16, tls: MQTTConfiguration.TLS? = nil) {
        self.account = account
        var configuration = MQTTConfiguration(clientID: "\(account)-\(UUID().uuidString)")
        configuration.port = port
        configuration.tls = tls
        configuration.username = account
        configuration.password = password
        configuration.backoffMaximum = .milliseconds(200)
        configuration.batchInterval = .milliseconds(1)
        client = MQTTClient(configuration: configuration, logger: .silent)
    }

    /// Runs `body` with all clients connected and subscribed to the filters.
    static func run<R: Sendable>(
        _ clients: [AccountClient], subscribedTo filters: [String], _ body: () async throws -> R
    ) async throws -> R {
        let group = ServiceGroup(services: clients.map(\.client), logger: .silent)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            for client in clients { tasks.addTask { try await client.observe(filters) } }
            // A client is ready before its subscriber comes.
            guard await eventually({ clients.allSatisfy { $0.state.withLock(\.isSubscribed) } }) else {
                throw ComposeFolder.Failure(text: "not all of \(clients.map(\.account)) are connected")
            }
            let result = try await body()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return result
        }
    }

    private func observe(_ filters: [String]) async throws {
        let subscriptions = filters.map { MQTTSubscription(filter: $0, qos: .atLeastOnce) }
        try await client.withSubscriptions(subscriptions) { events in
            for await event in events {
                switch event {
                case .connected: state.withLock { $0.isSubscribed = true }
                case .subscribed: break
                case .disconnected: state.withLock { ($0.isSubscribed, $0.disconnects) = (false, $0.disconnects + 1) }
                case .batch(let batch):
                    state.withLock { state in
                        for message in batch.messages {
                            state.payloads[message.topic, default: []].append(Array(message.payload))
                            if message.retain {
                                state.retained.insert(message.topic)
                            } else {
                                state.live.insert(message.topic)
                            }
                        }
                    }
                    batch.finish()
                }
            }
        }
    }

    /// The topics of retained messages.
    var retained: Set<String> { state.withLock { $0.retained } }
    /// The topics of live messages.
    var live: Set<String> { state.withLock { $0.live } }
    /// The payloads of a topic, oldest first.
    func payloads(_ topic: String) -> [[UInt8]] { state.withLock { $0.payloads[topic, default: []] } }
    var isConnected: Bool { client.isReady }
    var disconnects: Int { state.withLock { $0.disconnects } }

    /// Publishes messages without waiting for the broker.
    func send(_ messages: [MQTTMessage]) async throws { try await client.send(messages) }

    /// Publishes a message and returns whether the broker accepted it.
    func mayPublish(_ topic: String, retain: Bool = false) async throws -> Bool {
        do {
            try await client.publish(
                MQTTMessage(topic: topic, payload: Array("{}".utf8), qos: .atLeastOnce, retain: retain))
            return true
        } catch MQTTError.refused(reason: 0x87, _) {
            return false
        }
    }
}
