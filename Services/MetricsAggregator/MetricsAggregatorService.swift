import Bus
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Workouts

/// Feeds the machine with items, states and time, and does what follows: first to disk, then to the bus.
struct MetricsAggregatorService: Service {
    let context: ServiceContext
    let store: any Store

    func run() async throws {
        let health = StoreHealth()
        context.readiness.add("store") { health.isWriting }
        var loop = AggregatorLoop(context: context, store: store, health: health)
        try await context.serve(store: store, subscriptions: Self.subscriptions) { event in
            try await loop.handle(event)
        }
    }

    private static func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        // States first: what their sessions' items need is there when these come.
        [TopicFilter.Sessions.state, .samples, .summaryMetrics, .request].flatMap {
            TopicFilter.sessions($0, shards: shards)
        }
    }
}
