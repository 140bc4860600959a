package import MQTT
import Synchronization

/// A message broker in this process, with retained messages and wildcards. Services see the behaviour of ``MQTTClient``
/// and mosquitto without their delays.
///
/// Batches have no limit, so reading never stops. Nothing is delayed or repeated by itself; a test cuts connections and
/// clears the broker.
package final class InMemoryBroker: Sendable {
    private let state = Mutex(InMemoryBrokerState())

    package init() {}

    /// A new client, connected unless the broker is stopped.
    package func client() -> InMemoryBus {
        InMemoryBus(broker: self, id: change { $0.addClient() })
    }

    /// Cuts all connections and accepts none until ``start()``. Retained messages stay.
    package func stop() {
        change { $0.stop() }
    }

    package func start() {
        change { $0.start() }
    }

    /// Simulates `kill -9`: ``stop()``, and all retained messages are lost.
    package func kill() {
        change { state in
            state.stop()
            state.model.forgetAll()
        }
    }

    /// The topic's retained message.
    package func retained(_ topic: String) -> MQTTMessage? {
        state.withLock { $0.model[topic] }
    }

    /// All published messages so far, in order.
    package var published: [MQTTMessage] {
        state.withLock { $0.published }
    }

    /// Waits for a published message that satisfies the condition, earlier messages included.
    package func firstPublished(
        within limit: Duration = .seconds(180), _ condition: (MQTTMessage) -> Bool
    ) async -> MQTTMessage? {
        _ = await eventually(within: limit) { published.contains(where: condition) }
        return published.first(where: condition)
    }

    func change<R: Sendable>(_ body: (inout InMemoryBrokerState) -> R) -> R {
        let (result, effects) = state.withLock { state in
            let result = body(&state)
            return (result, state.takeEffects())
        }
        for effect in effects {
            switch effect {
            case .yield(let event, let stream): stream.yield(event(self))
            case .finish(let stream): stream.finish()
            }
        }
        return result
    }
}
