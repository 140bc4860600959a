import Bus
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Workouts

/// Runs the loop on the bus and the store.
struct SessionEngineService: Service {
    let context: ServiceContext
    let store: any Store
    let asksCoach: Bool

    func run() async throws {
        var loop = SessionEngineLoop(context: context, store: store, asksCoach: asksCoach)
        try await context.serve(store: store, subscriptions: subscriptions) { event in
            try await loop.handle(event)
        }
        try await loop.finish()
        await context.close(store)
    }

    private var brokerFigures: [MQTTSubscription] {
        // With several brokers, one gauge would mix their figures.
        context.configuration.mqtt.partitions.count == 1 ? TopicFilter.figures : []
    }

    private func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        // Users are owned by shard, and a user's sessions are in every shard.
        let all = Set(Shard.all)
        // A replica without shards keeps the commands for those that it may gain next.
        guard !shards.isEmpty else {
            return TopicFilter.sessions(.command, shards: all) + [.request, .signOut].map(TopicFilter.users)
        }
        let topics: [SessionTopic.Kind] = [
            .command, .summaryMetrics, .summaryRoute, .heardSamples, .heardLocations, .weather, .state, .profile,
            .workout, .request,
        ]
        let users =
            [UserTopic.request, .signOut, .signedOut, .current, .profile, .plans].map(TopicFilter.users)
            + (asksCoach ? [TopicFilter.users(.coachReply)] : [])
        return topics.flatMap { TopicFilter.sessions($0, shards: all) } + users
            + [TopicFilter.viewerRequests, TopicFilter.presence(of: "route-builder")]
            + (shards.contains(Shard(0)) ? [TopicFilter.limits] + brokerFigures : [])
    }
}
