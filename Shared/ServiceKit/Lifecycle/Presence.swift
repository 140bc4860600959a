import Bus
import MQTT
import ServiceLifecycle
import Synchronization
import Workouts

/// Publishes the status and the shards of this process as a retained message: `online` on each connect and each change
/// of ownership, `offline` at a graceful shutdown. If the process dies, the broker publishes the same `offline`.
///
/// Every process leaves an `offline` behind. The owner of shard 00 clears those of its service after an hour.
final class Presence: Service {
    /// The payload of the presence topic.
    struct Payload: Codable, Equatable {
        enum Status: String, Codable {
            case online, offline
        }

        var at: Timestamp
        var service: String
        /// `00-3f,80`, or `none`.
        var shards: String
        var status: Status
        var version: String
    }

    private struct State {
        var owned: Set<Shard> = []
        /// When this process first received each `offline`, by topic.
        var offline: [String: Moment] = [:]
    }

    /// How long an `offline` stays, in seconds.
    static let lifetime = 3_600.0

    private let configuration: ServiceConfiguration
    private let clock: any WallClock
    private let bus: any MessageBus
    /// The topic prefix of this service's processes.
    private let prefix: String
    private let state = Mutex(State())

    init(configuration: ServiceConfiguration, clock: any WallClock, bus: any MessageBus) {
        self.configuration = configuration
        self.clock = clock
        self.bus = bus
        prefix = String(TopicFilter.presence(of: configuration.name).filter.dropLast())
    }

    /// The broker publishes this when the connection is lost; its `at` is when the process started.
    static func will(_ configuration: ServiceConfiguration, at now: Timestamp) -> MQTTMessage {
        message(.offline, configuration, [], at: now)
    }

    /// Takes the shards that this process owns from now on and publishes them. Without a connection the next connect does.
    func own(_ shards: Set<Shard>, isConnected: Bool) async {
        let isNew = state.withLock { state in
            defer { state.owned = shards }
            if !shards.contains(Self.clearing) { state.offline = [:] }
            return state.owned != shards
        }
        if isNew, isConnected { await announce() }
    }

    /// Does not wait for the broker: the next connect repeats it.
    func announce() async {
        let owned = state.withLock { $0.owned }
        try? await bus.send([Presence.message(.online, configuration, owned, at: clock.now)])
    }

    /// Waits for shutdown and publishes `offline`. Services that need the bus must have stopped before.
    func run() async throws {
        try? await gracefulShutdown()
        try? await bus.publish(Presence.message(.offline, configuration, [], at: clock.now))
    }

    private static func message(
        _ status: Payload.Status, _ configuration: ServiceConfiguration, _ owned: Set<Shard>, at now: Timestamp
    ) -> MQTTMessage {
        let payload = Payload(
            at: now, service: configuration.name,
            shards: owned.isEmpty ? "none" : ShardSelection(owned).description, status: status, version: pacebusVersion)
        let topic = Topic.presence(service: configuration.name, configuration.instance)
        return topic.message(JSONCoding.encode(payload))
    }
}

/// Clears the presences of processes that are gone.
extension Presence {
    /// The owner of this shard clears.
    private static let clearing = Shard(0)

    /// The presence subscription of a replica with these shards.
    func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        shards.contains(Self.clearing) ? [TopicFilter.presence(of: configuration.name)] : []
    }

    /// Observes the presences in a batch and returns the batch without them, or `nil` when nothing else was in it.
    func observe(_ batch: MQTTBatch) -> MQTTBatch? {
        batch.removing(prefix) { messages in
            let now = clock.moment
            state.withLock { state in
                for message in messages {
                    let payload = try? JSONCoding.decode(Payload.self, from: message.payload)
                    let isOffline = payload?.status == .offline && state.owned.contains(Self.clearing)
                    state.offline[message.topic] = isOffline ? state.offline[message.topic] ?? now : nil
                }
            }
        }
    }

    /// Clears the presences that have been `offline` for an hour.
    func clear() async {
        let now = clock.moment
        let due = state.withLock { state in
            let due = state.offline.filter { now.seconds(since: $0.value) >= Self.lifetime }.keys.sorted()
            for topic in due { state.offline[topic] = nil }
            return due
        }
        guard !due.isEmpty else { return }
        try? await bus.send(due.map { MQTTMessage(topic: $0, payload: [], qos: .atLeastOnce, retain: true) })
    }
}
