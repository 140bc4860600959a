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
