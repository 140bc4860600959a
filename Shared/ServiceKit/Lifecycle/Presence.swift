import Bus
import MQTT
import ServiceLifecycle
import Synchronization
import Workouts

/// Publishes the status and the shards of this process as a retained message: `online` on each connect and each change
/// of ownership, `offline` at a graceful shutdown. If the process dies, the broker publishes the same `offline`.
///
/// Every 20 s it renews `online`, with a new `at`. Every process leaves an `offline` behind. The owner of shard 00 clears those
/// of its service after an hour, and an `online` that was not renewed for a minute: a broker that restored an old save has
/// presences of processes that ended since then.
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
        var announcedAt: Moment?
        /// The presences of this service's processes by topic, and when this process first received each.
        var seen: [String: (presence: Payload, since: Moment)] = [:]
    }

    /// How long an `offline` stays, and the time between two `online`, in seconds.
    static let lifetime = 3_600.0
    static let renewal = 20.0

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
            if !shards.contains(Self.clearing) { state.seen = [:] }
            return state.owned != shards
        }
        if isNew, isConnected { await announce() }
    }

    /// Does not wait for the broker: the next connect repeats it.
    func announce() async {
        let now = clock.moment
        let owned = state.withLock { state in
            state.announcedAt = now
            return state.owned
        }
        try? await bus.send([Presence.message(.online, configuration, owned, at: now.wallClock)])
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
                    // Its own presence it renews.
                    guard state.owned.contains(Self.clearing), message.topic != prefix + "\(configuration.instance)",
                        let presence = try? JSONCoding.decode(Payload.self, from: message.payload)
                    else {
                        state.seen[message.topic] = nil
                        continue
                    }
                    let known = state.seen[message.topic]
                    state.seen[message.topic] = (presence, known?.presence == presence ? known?.since ?? now : now)
                }
            }
        }
    }

    /// Renews the own presence, and clears those that have been `offline` for an hour or `online` without a renewal.
    func tick() async {
        let now = clock.moment
        let (isRenewalDue, due) = state.withLock { state in
            let due = state.seen.filter { entry in
                let lifetime = entry.value.presence.status == .offline ? Self.lifetime : OnlineProcesses.lifetime
                return now.seconds(since: entry.value.since) >= lifetime
            }.keys.sorted()
            for topic in due { state.seen[topic] = nil }
            return (state.announcedAt.map { now.seconds(since: $0) >= Self.renewal } ?? false, due)
        }
        if isRenewalDue { await announce() }
        guard !due.isEmpty else { return }
        try? await bus.send(due.map { MQTTMessage(topic: $0, payload: [], qos: .atLeastOnce, retain: true) })
    }
}
