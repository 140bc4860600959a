import Bus
import Foundation
import MQTT
import ServiceLifecycle
import Synchronization
import TestSupport
import Workouts

@testable import Exporter

/// Receives all messages of a broker and publishes messages of a test, across reconnects.
final class BusObserver: Sendable {
    private let client: MQTTClient
    private let state = Mutex(State())

    private struct State {
        var latest: [String: [UInt8]] = [:]
        var counts: [String: Int] = [:]
        /// How often a reader received that a partner finished, by both names.
        var finishCues: [String: Int] = [:]
    }

    private init(port: UInt16, _ account: String?, _ password: Secret?) {
        var configuration = MQTTConfiguration(clientID: "observer-\(UUID().uuidString)")
        configuration.port = port
        (configuration.username, configuration.password) = (account, password)
        configuration.backoffMaximum = .milliseconds(200)
        configuration.batchInterval = .milliseconds(1)
        client = MQTTClient(configuration: configuration, logger: .silent)
    }

    /// Runs `body` with an observer that is connected.
    static func run<R: Sendable>(
        port: UInt16, account: String? = nil, password: Secret? = nil, _ body: (BusObserver) async throws -> R
    ) async throws -> R {
        let observer = BusObserver(port: port, account, password)
        let group = ServiceGroup(
            services: [observer.client], logger: .silent)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask { try await observer.observe() }
            guard await eventually({ observer.client.isReady }) else { throw Unseen(topic: "connection") }
            let result = try await body(observer)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return result
        }
    }

    private func observe() async throws {
        let everything = [MQTTSubscription(filter: "#", qos: .atLeastOnce)]
        try await client.withSubscriptions(everything) { events in
            for await event in events {
                guard case .batch(let batch) = event else { continue }
                state.withLock { state in
                    for message in batch.messages {
                        state.latest[message.topic] = Array(message.payload)
                        state.counts[message.topic, default: 0] += 1
                        if case .user(let reader, .virtualRunAnnouncements) = Topic(message.topic),
                            let cue = try? JSONCoding.decode(Announcement.self, from: message.payload),
                            cue.kind == .finished, let partner = cue.user
                        {
                            state.finishCues["\(reader) \(partner)", default: 0] += 1
                        }
                    }
                }
                batch.finish()
            }
        }
    }

    struct Unseen: Error {
        let topic: String
    }

    /// The latest payload of a topic.
    func latest(_ topic: String) -> [UInt8]? { state.withLock { $0.latest[topic] } }

    /// The number of messages on a topic.
    func count(_ topic: String) -> Int { state.withLock { $0.counts[topic, default: 0] } }

    var finishCues: [String: Int] { state.withLock(\.finishCues) }

    /// The latest views of a user's virtual runs.
    func views(of user: User) -> [VirtualRunView] {
        let payloads = state.withLock { state in
            state.latest.filter { topic, payload in
                guard case .user(user, .virtualRun) = Topic(topic) else { return false }
                return !payload.isEmpty
            }
        }
        return payloads.values.compactMap { try? JSONCoding.decode(VirtualRunView.self, from: $0) }
    }

    /// The last levels of a session's topics whose latest payload is not empty.
    func topics(of key: SessionKey) -> Set<String> {
        let prefix = Topic.session(key, .state).name.dropLast("state".count)
        return state.withLock { state in
            Set(
                state.latest.filter { $0.key.hasPrefix(prefix) && !$0.value.isEmpty }.map {
                    String($0.key.dropFirst(prefix.count))
                })
        }
    }

    /// Waits until the latest payload of a topic satisfies a condition.
    func wait(
        for topic: String, within limit: Duration = .seconds(180), where condition: ([UInt8]) -> Bool = { _ in true }
    ) async throws -> [UInt8] {
        var found: [UInt8]?
        _ = await eventually(within: limit) {
            found = latest(topic).flatMap { condition($0) ? $0 : nil }
            return found != nil
        }
        guard let found else { throw Unseen(topic: topic) }
        return found
    }

    /// Publishes a message. It may be lost if the connection breaks.
    func publish(_ message: MQTTMessage) async {
        try? await client.publish(message)
    }
}

extension BusObserver {
    /// Waits until a session is exported.
    func exported(_ key: SessionKey, to target: Target = .folder) async throws -> ExportStatus {
        let payload = try await wait(for: Topic.session(key, .export(target)).name) { payload in
            (try? JSONCoding.decode(ExportStatus.self, from: payload))?.status == .done
        }
        return try JSONCoding.decode(ExportStatus.self, from: payload)
    }
}
