import Bus
import Client
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Workouts

/// Runs the loop on the bus and the store. Files are read concurrently and never delay the loop.
struct ImporterService: Service {
    let context: ServiceContext
    let store: any Store

    func run() async throws {
        var loop = ImporterLoop(context: context, store: store)
        let files = Inbox<ReadOutcome>()
        func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
            shards.isEmpty ? [] : Self.subscriptions(context.client) + loop.subscriptions
        }
        func haveChanged() -> Bool { loop.takeSubscriptionChange() }
        try await withThrowingDiscardingTaskGroup { readers in
            defer { readers.cancelAll() }
            try await context.serve(store: store, subscriptions: subscriptions, haveChanged: haveChanged) { event in
                try await loop.handle(event, files: files.take())
                for job in loop.takeJobs() {
                    readers.addTask { files.add(await job.read(from: store)) }
                }
            }
        }
        await loop.finish()
        await context.close(store)
    }

    /// Sessions of imports are in every shard, whichever shard their user is in.
    private static func subscriptions(_ client: Client) -> [MQTTSubscription] {
        TopicFilter.imports + [
            TopicFilter.users(.replies(client)), TopicFilter.users(.profile),
            TopicFilter.sessions(.samplesAck(Device.importer)),
            TopicFilter.sessions(.locationsAck(Device.importer)),
        ]
    }
}
