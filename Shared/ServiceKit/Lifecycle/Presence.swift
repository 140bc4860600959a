import Bus
import MQTT
import ServiceLifecycle
import Workouts

/// Tells the bus, retained, whether this process works: `online` on each connect, `offline` when it stops in order, and
/// the same `offline` by the broker when it dies.
struct Presence: Service {
    /// The payload of the presence topic.
    struct Payload: Codable, Equatable {
        enum Status: String, Codable {
            case online, offline
        }

        var at: Timestamp
        var service: String
        var shards: String
        var status: Status
        var version: String
    }

    let configuration: ServiceConfiguration
    let clock: any WallClock
    let bus: any MessageBus

    /// The broker publishes this when the connection is lost; its `at` is when the process started.
    static func will(_ configuration: ServiceConfiguration, at now: Timestamp) -> MQTTMessage {
        message(.offline, configuration, at: now)
    }

    /// Does not wait for the broker: the next connect repeats it.
    func announce() async {
        try? await bus.send([Presence.message(.online, configuration, at: clock.now)])
    }

    /// Waits for shutdown and takes the presence back. What needs the bus must have stopped before.
    func run() async throws {
        try? await gracefulShutdown()
        try? await bus.publish(Presence.message(.offline, configuration, at: clock.now))
    }

    private static func message(
        _ status: Payload.Status, _ configuration: ServiceConfiguration, at now: Timestamp
    ) -> MQTTMessage {
        let payload = Payload(
            at: now, service: configuration.name, shards: configuration.shards.description, status: status,
            version: pacebusVersion)
        let topic = Topic.presence(service: configuration.name, configuration.instance)
        return topic.message(JSONCoding.encode(payload))
    }
}

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

    func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {
        bus.setSubscriptions(subscriptions, renewing: renewed)
    }

    func publish(_ message: MQTTMessage) async throws(MQTTError) { try await bus.publish(message) }

    func send(_ messages: [MQTTMessage]) async throws(MQTTError) { try await bus.send(messages) }

    func stopReading() { bus.stopReading() }
}
