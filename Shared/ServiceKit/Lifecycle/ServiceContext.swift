package import Logging
package import MQTT
package import Storage
package import Workouts

/// The dependencies of a service.
package struct ServiceContext: Sendable {
    /// The settings, checked.
    package var configuration: ServiceConfiguration
    /// Labelled with the service's name.
    package var logger: Logger
    /// The broker. It runs beside the services and outlives them.
    package var bus: any MessageBus
    package var clock: any WallClock
    /// The readiness checks; the broker connection is already among them.
    package var readiness: Readiness
    /// Whether the service's loop continues.
    package let liveness: Liveness
    /// The metrics registry, with help texts.
    package var metrics: PrometheusMetrics
    /// Counts and logs what the limits of users stop.
    package var limits: Limits

    /// `nil` for a client.
    var presence: Presence?

    package init(
        configuration: ServiceConfiguration, logger: Logger, bus: any MessageBus, clock: any WallClock = SystemClock(),
        readiness: Readiness = Readiness(), metrics: PrometheusMetrics = PrometheusMetrics()
    ) {
        self.configuration = configuration
        self.logger = logger
        self.bus = bus
        self.clock = clock
        self.readiness = readiness
        self.metrics = metrics
        liveness = Liveness(clock: clock)
        limits = Limits(logger: logger, metrics: metrics)
    }
}

extension ServiceContext {
    /// Sends messages that may be lost with the connection: retained topics are published again on the next one, and
    /// clients repeat requests without a reply.
    ///
    /// - Parameter isCurrent: see ``MessageBus/send(_:while:)``.
    package func send(_ messages: [MQTTMessage], while isCurrent: MessageCheck? = nil) async {
        guard !messages.isEmpty else { return }
        do throws(MQTTError) {
            try await liveness.waiting { () async throws(MQTTError) in try await bus.send(messages, while: isCurrent) }
        } catch {
            logger.debug("publish failed", metadata: [LogKey.error: "\(error)"])
        }
    }

    /// Sends messages that follow from the records of shards, each while this process owns its shard under that epoch.
    package func send(_ messages: [OwnedMessage], of store: any Store) async {
        let owners = messages.map(\.owner)
        await send(messages.map(\.message)) { index in
            owners[index].map { store.owns($0.shard, under: $0.epoch) } ?? true
        }
    }

    /// Gives up every shard after the messages about them are written.
    package func close(_ store: any Store) async {
        await bus.flush()
        await store.close()
    }
}

/// A message and the shard that it is about; no shard for one that depends on nothing in the store.
package struct OwnedMessage: Sendable {
    package let owner: (shard: Shard, epoch: Epoch)?
    package let message: MQTTMessage

    package init(_ message: MQTTMessage, of shard: Shard?, _ epochs: [Shard: Epoch]) {
        owner = shard.flatMap { shard in epochs[shard].map { (shard, $0) } }
        self.message = message
    }
}

extension ServiceContext {
    /// Opens the store that the settings name. Its calls count as waits for ``liveness``. On PostgreSQL it adds the check
    /// `membership` to the readiness.
    ///
    /// - Parameter sharing: how replicas share the shards of PostgreSQL with `SHARDS=auto`. A service whose records of one
    ///   shard depend on those of others, or whose limits count for all, takes ``OwnershipPlan/single``.
    package func openStore(
        _ schema: StoreSchema, sharing: OwnershipPlan = .balanced
    ) throws(StoreError) -> any Store {
        switch configuration.store {
        case .sqlite(let path):
            let store = try SQLiteStore(path: path, schema: schema, shards: configuration.shards.shards)
            return WatchedStore(store: store, liveness: liveness)
        case .postgres(let address):
            let store = try PostgresStore(address, schema: schema, plan: configuration.shards.plan(sharing))
            readiness.addCheck("membership") { store.isMember }
            return WatchedStore(store: store, liveness: liveness)
        }
    }
}
