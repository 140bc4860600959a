package import MQTT
import Synchronization

/// A message broker in this process, with retained messages and wildcards: what ``MQTTClient`` and mosquitto show to a
/// service, without their time.
///
/// Its batches have no limit, so that it never stops reading. Nothing is delivered late or twice by itself; a test cuts connections and lets the broker forget.
package final class InMemoryBroker: Sendable {
    private let state = Mutex(InMemoryBrokerState())

    package init() {}

    /// A new client, connected unless the broker is stopped.
    package func client() -> InMemoryBus {
        InMemoryBus(broker: self, id: change { $0.addClient() })
    }

    /// Cuts all connections and lets nobody in until ``start()``. Retained messages stay.
    package func stop() {
        change { $0.stop() }
    }

    package func start() {
        change { $0.start() }
    }

    /// `kill -9`: like ``stop()``, and everything retained is forgotten.
    package func kill() {
        change { state in
            state.stop()
            state.retained.removeAll()
        }
    }

    /// The topic's retained message.
    package func retained(_ topic: String) -> MQTTMessage? {
        state.withLock { $0.retained[topic] }
    }

    /// Every message that was published so far, in order.
    package var published: [MQTTMessage] {
        state.withLock { $0.published }
    }

    /// Waits for a published message that satisfies the condition, also one published before.
    package func firstPublished(
        within limit: Duration = .seconds(60), _ condition: (MQTTMessage) -> Bool
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
