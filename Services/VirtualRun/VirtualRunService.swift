import Bus
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Workouts

/// Runs the loop on the bus and the store.
struct VirtualRunService: Service {
    let context: ServiceContext
    let store: any Store

    func run() async throws {
        var loop = VirtualRunLoop(context: context, store: store)
        func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
            Self.subscriptions(shards) + loop.subscriptions
        }
        func haveChanged() -> Bool { loop.takeSubscriptionChange() }
        try await context.serve(store: store, subscriptions: subscriptions, haveChanged: haveChanged) { event in
            try await loop.handle(event)
        }
        await loop.finish()
        await context.close(store)
    }

    /// The runners' sessions are in every shard, whichever shard their run is in. A replica without shards reads nothing.
    static func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        guard !shards.isEmpty else { return [] }
        // A session's state names its run, so it comes before chunks and records.
        let topics: [SessionTopic.Kind] = [
            .state, .series, .track, .summaryMetrics, .summaryRoute, .workout,
        ]
        // The accounts come before requests that name them. Of QoS 1 the broker would retain more than it sends at once.
        let accounts = MQTTSubscription(filter: TopicFilter.accounts.filter, qos: .atMostOnce)
        return [accounts] + topics.flatMap { TopicFilter.sessions($0, shards: Set(Shard.all)) }
            + [UserTopic.profile, .virtualRunRequest, .virtualRunPeople].map(TopicFilter.users)
            + [TopicFilter.virtualRuns(), TopicFilter.presence(of: "metrics-aggregator")]
    }
}
