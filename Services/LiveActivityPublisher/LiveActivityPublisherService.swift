import AsyncHTTPClient
import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Workouts

/// Runs the loop on the bus and the store. Pushes run concurrently and never delay the loop.
struct LiveActivityPublisherService: Service {
    let context: ServiceContext
    let configuration: APNsConfiguration
    let store: any Store
    let limits: APNsClient.Limits

    func run() async throws {
        if configuration.account == nil {
            context.logger.notice("no APNs key, Live Activities stay pending and no alerts are sent")
        }
        let http = APNsClient.http(authorities: configuration.caFile, limits: limits)
        try await HTTPClient.withHTTPClient(configuration: http) { client in
            let apns = configuration.account.map {
                APNsClient($0, url: configuration.url, clock: context.clock, client: client, limits: limits)
            }
            var loop = LiveActivityPublisherLoop(context: context, canPush: apns != nil, store: store)
            let outcomes = Inbox<EndedPush>()
            // Shutdown awaits the pushes under way: the next process would repeat a start whose success is not stored.
            try await withThrowingDiscardingTaskGroup { deliveries in
                try await context.serve(
                    store: store, subscriptions: { Self.subscriptions($0) + loop.machine.subscriptions(of: $0) },
                    haveChanged: { loop.takeSubscriptionChange() }
                ) { event in
                    // A release awaits them too.
                    if case .ownership(.releasing(let shards)) = event {
                        await outcomes.wait(for: loop.pushes(in: shards), clock: context.clock)
                    }
                    let pushes = try await loop.handle(event, outcomes: outcomes.take())
                    guard let apns else { return }
                    for push in pushes { deliveries.addTask { outcomes.add(await apns.deliver(push)) } }
                }
            }
            await loop.finish(outcomes.take())
        }
        await context.close(store)
    }

    private static func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        // States first: a session's other messages mean little before its state.
        let topics: [SessionTopic.Kind] = [.state, .activityRegister, .activity]
        return topics.flatMap { TopicFilter.sessions($0, shards: shards) } + [
            TopicFilter.users(.notificationsRegister), TopicFilter.users(.profile), TopicFilter.virtualRuns(),
        ]
    }
}

extension Inbox<EndedPush> {
    /// The timeout for the pushes under way before their shards are released.
    private static var releaseTimeout: Duration { .seconds(2) }

    /// Returns when these pushes have ended, or after the timeout.
    func wait(for pushes: Set<UUID>, clock: any WallClock) async {
        await withTaskGroup { group in
            group.addTask { await self.wait { pushes.isSubset(of: $0.map(\.push.id)) } }
            group.addTask { try? await clock.wait(for: Self.releaseTimeout) }
            await group.next()
            group.cancelAll()
        }
    }
}

extension APNsClient {
    fileprivate func deliver(_ push: Push) async -> EndedPush {
        let began = ContinuousClock.now
        let outcome = await send(push)
        return EndedPush(push: push, outcome: outcome, took: ContinuousClock.now - began)
    }
}
