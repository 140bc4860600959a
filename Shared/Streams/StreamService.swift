import Bus
import MQTT
package import ServiceKit
import ServiceLifecycle
package import Storage
import Workouts

/// Runs the machine on items, states and time. Each effect goes to disk first, then to the bus.
package struct StreamService<Work: StreamWork>: Service {
    private let context: ServiceContext
    private let store: any Store
    private let bounds: StreamBounds

    package init(context: ServiceContext, store: any Store, bounds: StreamBounds = StreamBounds()) {
        self.context = context
        self.store = store
        self.bounds = bounds
    }

    package func run() async throws {
        var loop = StreamLoop<Work>(context: context, store: store, bounds: bounds)
        let ends = Inbox<StreamJob<Work>.End>()
        try await context.serve(store: store, subscriptions: Self.subscriptions) { event in
            try await loop.handle(event, ends: ends.take())
            for job in loop.takeJobs() {
                // Not a child task: a shutdown waits for no computation, and its result is void.
                Task { [store] in ends.add(await job.run(store)) }
            }
        }
        await context.close(store)
    }

    private static func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        // States first, so that they arrive before the items of their sessions.
        filters.flatMap { TopicFilter.sessions($0, shards: shards) }
            + (shards.isEmpty ? [] : [TopicFilter.viewerRequests])
    }

    private static var filters: [SessionTopic.Kind] {
        let own: [SessionTopic.Kind] =
            switch Work.kind {
            case .samples: [.state, .samples, .summaryMetrics, .request]
            case .locations: [.state, .locations, .summaryRoute, .request]
            }
        return own + Work.inputs
    }
}
