import AsyncAlgorithms
import CoreMetrics
import Logging
package import MQTT
import ServiceLifecycle
package import Storage
package import Workouts

extension ServiceContext {
    private static let tickInterval = Duration.milliseconds(100)
    private static let readBackoff = Duration.milliseconds(100)...Duration.seconds(5)

    /// Runs a service's loop: ownership changes, bus events and ticks, one event at a time.
    ///
    /// - Gained shards: the loop loads them, the bus subscribes, and the loop announces them when the broker has granted that.
    /// - Releasing shards: the bus unsubscribes, the loop handles what was read and drops them, and the store releases them.
    /// - Lost shards: the loop drops them at once, then the bus unsubscribes.
    ///
    /// After a failed read of the store the loop repeats the event with backoff. Later events wait. Each event and each retry is
    /// a step for ``liveness``.
    ///
    /// On graceful shutdown it stops reading, handles what was read, and returns. The caller closes the store after its last
    /// commit.
    ///
    /// - Parameters:
    ///   - ownSubscriptions: the subscriptions that a replica with these shards needs.
    ///   - haveChanged: whether the same shards need other subscriptions than before; called after each event.
    ///   - haveBeenGranted: called once for each such change, in order, when the broker has granted it or the connection is lost.
    /// - Throws: ``StoreError/vanished(path:)`` if the store's file was removed or replaced, before the next event is handled.
    package func serve(
        store: any Store, subscriptions ownSubscriptions: (Set<Shard>) -> [MQTTSubscription],
        haveChanged: () -> Bool = { false }, haveBeenGranted: () -> Void = {},
        _ handleOnce: (ServiceEvent) async throws -> Void
    ) async throws {
        let busyRatio = Meter(label: "pacebus_loop_busy_ratio", factory: metrics)
        let readFailures = Counter(label: "pacebus_store_read_failures_total", factory: metrics)
        var busy = BusyShare(from: clock.moment)
        func handle(_ event: ServiceEvent) async throws {
            let begin = clock.moment
            liveness.mark(Liveness.loop)
            try store.verify()
            try await retryingReads(counting: readFailures) { try await handleOnce(event) }
            if let share = busy.handled(from: begin, to: clock.moment) { busyRatio.set(share) }
        }
        func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
            ownSubscriptions(shards) + (presence?.subscriptions(shards) ?? [])
        }
        defer { liveness.end(Liveness.loop) }
        let brokerFigures = BrokerFigures(metrics: metrics)
        var first = store.ownership.makeAsyncIterator()
        guard case .gained(let epochs)? = await first.next() else { return }
        var shards = ShardHandover(owned: Set(epochs.keys))
        try await handle(.ownership(.gained(epochs)))
        let owned = Meter(label: "pacebus_shards_owned", factory: metrics)
        owned.set(shards.owned.count)
        await presence?.own(shards.owned, isConnected: shards.isConnected)
        try await withGracefulShutdownHandler {
            try await bus.withSubscriptions(subscriptions(shards.owned)) { stream in
                let changes = store.ownership.map { Incoming.ownership($0) }
                let events = chain(stream.map { Incoming.bus($0) }, [.end].async)
                for await incoming in merge(changes, events, ticks) {
                    switch incoming {
                    case .ownership(let change):
                        for event in shards.apply(change) { try await handle(event) }
                        if !shards.owned.contains(Shard(0)) { brokerFigures.forget() }
                        owned.set(shards.owned.count)
                        await presence?.own(shards.owned, isConnected: shards.isConnected)
                        var gained: Set<Shard> = []
                        if case .gained(let epochs) = change { gained = Set(epochs.keys) }
                        // A filter of the gained shards may be subscribed already: their retained messages must arrive
                        // again.
                        bus.setSubscriptions(
                            subscriptions(shards.owned), renewing: Set(subscriptions(gained)))
                    case .bus(.subscribed):
                        if shards.isResubscribing { haveBeenGranted() }
                        guard let event = shards.subscribed() else { continue }
                        try await handle(event)
                        if case .ownership(.releasing(let released)) = event {
                            // The next owner publishes above what is written.
                            await bus.flush()
                            await store.released(released)
                        }
                    case .bus(.connected):
                        shards.isConnected = true
                        await presence?.announce()
                        try await handle(.connected)
                    case .bus(.disconnected):
                        shards.isConnected = false
                        try await handle(.disconnected)
                    case .bus(.batch(let batch)):
                        let others = (presence.map { $0.observe(batch) } ?? batch).flatMap(brokerFigures.observe)
                        if let others { try await handle(.batch(others)) }
                    case .tick:
                        await presence?.tick()
                        try await handle(.tick)
                    case .end: return
                    }
                    if haveChanged() {
                        shards.resubscribe()
                        bus.setSubscriptions(subscriptions(shards.owned), renewing: [])
                    }
                }
            }
        } onGracefulShutdown: {
            bus.stopReading()
        }
    }

    /// Runs the loop of a service without a store: bus events and ticks, one at a time. Each is a step for ``liveness``.
    ///
    /// After each ``MQTTEvent/connected`` comes a ``MQTTEvent/subscribed``, and all that the broker retains in between: the
    /// broker confirms a repeated subscription after the retained messages of the others. For that they have QoS 0: of QoS 1
    /// it sends only as many as fit into the window.
    ///
    /// - Parameter handle: its event is `nil` for a tick.
    package func serve(reading subscriptions: [MQTTSubscription], _ handle: (MQTTEvent?) async throws -> Void)
        async throws
    {
        defer { liveness.end(Liveness.loop) }
        await presence?.own(Set(Shard.all), isConnected: false)
        let own = presence?.subscriptions([Shard(0)]) ?? []
        try await withGracefulShutdownHandler {
            try await bus.withSubscriptions(subscriptions + own) { stream in
                let events = chain(stream.map { Incoming.bus($0) }, [.end].async)
                for await incoming in merge(events, ticks) {
                    liveness.mark(Liveness.loop)
                    switch incoming {
                    case .bus(.connected):
                        await presence?.announce()
                        try await handle(.connected)
                        bus.setSubscriptions(subscriptions + own, renewing: Set(own.prefix(1)))
                    case .bus(.batch(let batch)):
                        let others = presence.map { $0.observe(batch) } ?? batch
                        if let others { try await handle(.batch(others)) }
                    case .bus(let event): try await handle(event)
                    case .tick:
                        await presence?.tick()
                        try await handle(nil)
                    case .end: return
                    case .ownership: break
                    }
                }
            }
        } onGracefulShutdown: {
            bus.stopReading()
        }
    }

    /// Repeats `body` while it fails to read the store, with backoff.
    private func retryingReads(counting failures: Counter, _ body: () async throws -> Void) async throws {
        var delay = Self.readBackoff.lowerBound
        while true {
            do {
                return try await body()
            } catch StoreError.notReadable(let text) {
                // A canceled read is no failure of the store.
                try Task.checkCancellation()
                logger.error("read failed, retrying", metadata: [LogKey.error: "\(text)"])
                failures.increment()
                try await clock.wait(for: delay)
                liveness.mark(Liveness.loop)
                delay = min(delay * 2, Self.readBackoff.upperBound)
            }
        }
    }

    /// Ticks follow the uptime: the wall clock may step by an hour.
    private var ticks: AsyncStream<Incoming> {
        AsyncStream { (try? await clock.wait(for: Self.tickInterval)).map { .tick } }
    }

    private enum Incoming: Sendable {
        case ownership(OwnershipChange)
        case bus(MQTTEvent)
        case tick
        /// The bus delivers nothing more.
        case end
    }
}
