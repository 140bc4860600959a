import MQTT
import Synchronization
import TestSupport

/// Subscribes, records messages and finishes each batch at once.
final class Recorder: Sendable {
    enum Recorded: Hashable, Sendable {
        case connected
        case disconnected
        case subscribed
        case message(MQTTMessage)
        case ended
    }

    private let recorded = Mutex<[Recorded]>([])

    var events: [Recorded] { recorded.withLock { $0 } }
    var connections: Int { events.count { $0 == .connected } }
    var changes: Int { events.count { $0 == .subscribed } }
    var losses: Int { events.count { $0 == .disconnected } }
    var hasEnded: Bool { events.contains(.ended) }

    var messages: [MQTTMessage] {
        events.compactMap { if case .message(let message) = $0 { message } else { nil } }
    }

    var texts: [String] { messages.map(\.text) }

    var lastText: String? {
        recorded.withLock { events in
            events.lazy.reversed().compactMap { if case .message(let message) = $0 { message.text } else { nil } }.first
        }
    }

    func run(_ bus: any MessageBus, _ subscriptions: [MQTTSubscription]) async throws {
        try await bus.withSubscriptions(subscriptions) { events in
            for await event in events {
                switch event {
                case .connected: note(.connected)
                case .disconnected: note(.disconnected)
                case .subscribed: note(.subscribed)
                case .batch(let batch):
                    for message in batch.messages { note(.message(message)) }
                    batch.finish()
                }
            }
            note(.ended)
        }
    }

    private func note(_ event: Recorded) {
        recorded.withLock { $0.append(event) }
    }
}

extension MQTTMessage {
    init(_ topic: String, _ text: String, qos: QoS = .atLeastOnce, retain: Bool = false) {
        self.init(topic: topic, payload: Array(text.utf8), qos: qos, retain: retain)
    }

    var text: String { String(decoding: payload, as: UTF8.self) }
}

/// Records a client's events from its connection on while `body` runs.
func withRecorder<R: Sendable>(
    _ bus: any MessageBus, _ filters: [String], qos: QoS = .atLeastOnce, waitsForConnection: Bool = true,
    _ body: (Recorder) async throws -> R
) async throws -> R {
    let recorder = Recorder()
    return try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await recorder.run(bus, filters.map { MQTTSubscription(filter: $0, qos: qos) }) }
        if waitsForConnection { try await expectEventually { recorder.connections > 0 } }
        let result = try await body(recorder)
        tasks.cancelAll()
        try await tasks.waitForAll()
        return result
    }
}

struct NotInTime: Error {}

/// Fails the test if the condition does not hold before the timeout.
func expectEventually(
    within limit: Duration = .seconds(180), _ condition: () async throws -> Bool
) async throws {
    guard try await eventually(within: limit, condition) else { throw NotInTime() }
}
