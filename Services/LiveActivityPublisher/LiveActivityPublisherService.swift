import AsyncHTTPClient
import Bus
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Workouts

/// Feeds the machine with states, snapshots, registrations, outcomes and time, and does what it returns: first to disk, then
/// to the bus and to APNs. Pushes run beside that, so that nothing ever waits for APNs.
struct LiveActivityPublisherService: Service {
    let context: ServiceContext
    let configuration: APNsConfiguration
    let store: any Store
    var limits = APNsClient.Limits()

    func run() async throws {
        let health = StoreHealth()
        context.readiness.add("store") { health.isWriting }
        if configuration.account == nil {
            context.logger.notice("no APNs key: Live Activities stay pending")
        }
        let http = APNsClient.http(authorities: configuration.caFile, limits: limits)
        try await HTTPClient.withHTTPClient(configuration: http) { client in
            let apns = configuration.account.map {
                APNsClient($0, url: configuration.url, clock: context.clock, client: client, limits: limits)
            }
            var loop = LiveActivityPublisherLoop(context: context, canPush: apns != nil, store: store, health: health)
            let outcomes = OutcomeBox()
            // On shutdown what is under way is awaited: a start whose success were forgotten would be sent again.
            try await withThrowingDiscardingTaskGroup { deliveries in
                try await context.serve(store: store, subscriptions: Self.subscriptions) { event in
                    let pushes = try await loop.handle(event, outcomes: outcomes.take())
                    guard let apns else { return }
                    for push in pushes { deliveries.addTask { outcomes.add(await apns.deliver(push)) } }
                }
            }
            await loop.finish(outcomes.take())
        }
        await store.close()
    }

    private static func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        // States first: what else comes of a session means little before its state.
        let topics: [TopicFilter.Sessions] = [.state, .metrics, .activityRegister, .activity]
        return topics.flatMap { TopicFilter.sessions($0, shards: shards) }
    }
}

extension APNsClient {
    fileprivate func deliver(_ push: Push) async -> EndedPush {
        let began = ContinuousClock.now
        let outcome = await send(push)
        return EndedPush(push: push, outcome: outcome, took: ContinuousClock.now - began)
    }
}
