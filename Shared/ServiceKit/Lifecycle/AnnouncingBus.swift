import MQTT

/// A service's bus that announces the service on each connect, once the broker has granted its subscriptions and before
/// the service itself sees the connect: who is online listens.
struct AnnouncingBus: MessageBus {
    let bus: any MessageBus
    let presence: Presence

    func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        try await bus.withSubscriptions(subscriptions) { events in
            let announced = AsyncStream<MQTTEvent> {
                // Iterators of one stream share its buffer, so that a new one goes on where the last one stopped.
                var iterator = events.makeAsyncIterator()
                let event = await iterator.next()
                if case .connected = event { await presence.announce() }
                return event
            }
            return try await body(announced)
        }
    }

    func publish(_ message: MQTTMessage) async throws(MQTTError) { try await bus.publish(message) }

    func send(_ messages: [MQTTMessage]) async throws(MQTTError) { try await bus.send(messages) }

    func stopReading() { bus.stopReading() }
}
