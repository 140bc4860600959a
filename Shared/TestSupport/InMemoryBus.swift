package import MQTT

/// A client of an ``InMemoryBroker``.
package final class InMemoryBus: MessageBus {
    private let broker: InMemoryBroker
    private let id: Int

    init(broker: InMemoryBroker, id: Int) {
        self.broker = broker
        self.id = id
    }

    package var isReady: Bool {
        broker.change { [id] in $0.isOnline(id) }
    }

    /// Cuts this client's connection until ``connect()``.
    package func cut() {
        broker.change { $0.cut(id) }
    }

    package func connect() {
        broker.change { $0.connect(id) }
    }

    package func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        let (stream, continuation) = AsyncStream.makeStream(of: MQTTEvent.self)
        broker.change { $0.enter(id, subscriptions, continuation) }
        defer { broker.change { $0.leave(id) } }
        return try await body(stream)
    }

    package func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {
        broker.change { $0.setSubscriptions(id, subscriptions, renewing: renewed) }
    }

    package func publish(_ message: MQTTMessage) async throws(MQTTError) {
        try broker.change { $0.publish(message, from: id) }.get()
    }

    package func send(_ messages: [MQTTMessage], while isCurrent: MessageCheck?) async throws(MQTTError) {
        try broker.change { $0.send(messages, while: isCurrent, from: id) }.get()
    }

    /// Nothing waits in this client.
    package func flush() async {}

    package func stopReading() {
        broker.change { $0.drain(id) }
    }
}
