package import MQTT
import Synchronization

/// A bus that records sent messages up to a limit, like a process that is killed while sending.
package final class RecordingBus: MessageBus {
    private struct State {
        var sent: [MQTTMessage] = []
        var limit = Int.max
    }

    private let state = Mutex(State())

    package init() {}

    /// Removes and returns the messages sent so far.
    package func take() -> [MQTTMessage] {
        state.withLock { state in
            defer { state.sent = [] }
            return state.sent
        }
    }

    /// Limits the number of messages sent from now on.
    package func limit(to count: Int) {
        state.withLock { $0.limit = $0.sent.count + count }
    }

    package func send(_ messages: [MQTTMessage], while isCurrent: MessageCheck?) async throws(MQTTError) {
        state.withLock { state in
            for (index, message) in messages.enumerated() where state.sent.count < state.limit {
                if isCurrent?(index) ?? true { state.sent.append(message) }
            }
        }
    }

    package func flush() async {}

    package func publish(_ message: MQTTMessage) async throws(MQTTError) {
        try await send([message])
    }

    /// Delivers nothing: the test passes events to the code directly.
    package func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        try await body(AsyncStream { $0.finish() })
    }

    package func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {}

    package func stopReading() {}
}
