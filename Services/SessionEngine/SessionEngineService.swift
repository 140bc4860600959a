import Bus
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Workouts

/// Feeds the machine with commands, summaries and time, and does what it returns: first to disk, then to the bus.
struct SessionEngineService: Service {
    let context: ServiceContext
    let store: any Store
    let asksCoach: Bool

    func run() async throws {
        let health = StoreHealth()
        context.readiness.add("store") { health.isWriting }
        var loop = SessionEngineLoop(context: context, store: store, asksCoach: asksCoach, health: health)
        try await context.serve(store: store, subscriptions: subscriptions) { event in
            try await loop.handle(event)
        }
        await store.close()
    }

    private func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        guard !shards.isEmpty else { return [] }
        // Users are owned by shard, and a user's sessions are in every shard.
        let all = Set(Shard.all)
        let topics: [TopicFilter.Sessions] = [
            .command, .summaryMetrics, .summaryRoute, .metrics, .route, .weather, .state, .workout, .request,
        ]
        let users =
            [TopicFilter.userRequest, TopicFilter.current, TopicFilter.profile, TopicFilter.plans]
            + (asksCoach ? [TopicFilter.coachReply] : [])
        return topics.flatMap { TopicFilter.sessions($0, shards: all) } + users
            + [TopicFilter.presence(of: "route-builder")]
    }
}
