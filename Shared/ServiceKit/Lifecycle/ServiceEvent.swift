package import MQTT
package import Storage
package import Workouts

/// The events of a service, handled one at a time.
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
    /// Commit, finish the batch, then publish.
    case batch(MQTTBatch)
    /// Time has passed: ten times a second, less often when handling takes longer.
    case tick
}
