package import MQTT
import Synchronization

/// A bus that keeps what is sent, up to a limit: what a process that is killed while it sends gets out.
package final class RecordingBus: MessageBus {
    private struct State {
        var sent: [MQTTMessage] = []
        var limit = Int.max
    }

    private let state = Mutex(State())

    package init() {}

    /// Takes the messages sent so far.
    package func take() -> [MQTTMessage] {
        state.withLock { state in
            defer { state.sent = [] }
            return state.sent
        }
    }

    /// From now on only this many messages get out.
    package func limit(to count: Int) {
        state.withLock { $0.limit = $0.sent.count + count }
    }

    package func send(_ messages: [MQTTMessage]) async throws(MQTTError) {
        state.withLock { state in
            for message in messages where state.sent.count < state.limit { state.sent.append(message) }
        }
    }

    package func publish(_ message: MQTTMessage) async throws(MQTTError) {
        try await send([message])
    }

    /// Delivers nothing: events are handed to the code under test directly.
    package func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        try await body(AsyncStream { $0.finish() })
    }

    package func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {}

    package func stopReading() {}
}
