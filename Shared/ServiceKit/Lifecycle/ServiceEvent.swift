import AsyncAlgorithms
package import MQTT
import ServiceLifecycle
package import Storage
package import Workouts

/// What a service reacts to, one after the other.
package enum ServiceEvent: Sendable {
    /// This process gained shards: load them. Or it releases or lost shards: drop them. Before `releasing` the loop has handled
    /// and committed every message that was read for these shards.
    case ownership(OwnershipChange)
    /// The broker granted the subscriptions of shards gained on a live connection: publish their retained topics.
    case announce(Set<Shard>)
    /// Connected with all subscriptions granted: publish all retained topics again; no echo of an earlier publish follows.
    case connected
    /// Messages published before the next `connected` are lost.
    case disconnected
    /// Commit, acknowledge, then publish.
    case batch(MQTTBatch)
    /// Time has passed: ten times a second, less often when handling takes longer.
    case tick
}

extension ServiceContext {
    /// How often time is looked at.
    private static let tickInterval = Duration.milliseconds(100)

    /// Runs a service's loop: what the store gave it, then what comes from the bus and the clock, one event at a time.
    ///
    /// On graceful shutdown reading stops, what was read is handled, and then it returns.
    ///
    /// - Parameter subscriptions: what to subscribe to for the shards that are owned.
    package func serve(
        store: any Store, subscriptions: (Set<Shard>) -> [MQTTSubscription],
        _ handle: (ServiceEvent) async throws -> Void
    ) async throws {
        var changes = store.ownership.makeAsyncIterator()
        guard let first = await changes.next(), case .gained(let epochs) = first else { return }
        try await handle(.ownership(first))
        try await withGracefulShutdownHandler {
            try await bus.withSubscriptions(subscriptions(Set(epochs.keys))) { stream in
                let ends = chain(stream.map(ServiceEvent?.some(event:)), [nil].async)
                // By the time that has passed: the time of day may be set back by an hour.
                let ticks = AsyncStream<ServiceEvent?> {
                    guard (try? await clock.wait(for: Self.tickInterval)) != nil else { return nil }
                    return .some(.tick)
                }
                for await event in merge(ends, ticks) {
                    guard let event else { return }
                    try await handle(event)
                }
            }
        } onGracefulShutdown: {
            bus.stopReading()
        }
    }
}

extension ServiceEvent? {
    fileprivate static func some(event: MQTTEvent) -> Self {
        switch event {
        case .connected: .some(.connected)
        case .disconnected: .some(.disconnected)
        case .batch(let batch): .some(.batch(batch))
        }
    }
}
