import AsyncHTTPClient
import Bus
import Formats
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Workouts

/// Runs the loop on the bus and the store. Deliveries and removals run concurrently and never delay the loop.
struct ExporterService: Service {
    let context: ServiceContext
    let configuration: ExportConfiguration
    let store: any Store
    let uploadTimeout: Duration

    func run() async throws {
        try await HTTPClient.withHTTPClient(configuration: UploadTarget.http) { client in
            let resources = ExportResources(
                clock: context.clock, client: client, folder: configuration.temporaryFolder,
                uploadTimeout: uploadTimeout)
            let targets = ExportTargets(configuration, resources)
            for name in targets.configured.map({ type(of: $0).name }) {
                context.logger.info("export target configured", metadata: [LogKey.target: "\(name)"])
            }
            var loop = ExporterLoop(
                context: context, targets: targets, store: store, folder: configuration.temporaryFolder,
                bytesPerDay: configuration.bytesPerDay)
            let outcomes = Inbox<DeliveryOutcome>()
            let files = Inbox<WrittenFile>()
            var underway: [SessionKey: AsyncStream<Void>.Continuation] = [:]
            try await withThrowingDiscardingTaskGroup { deliveries in
                defer { deliveries.cancelAll() }
                deliveries.addTask { await targets.expire(configuration.retention, context) }
                try await context.serve(store: store, subscriptions: Self.subscriptions) { event in
                    try await loop.handle(event, outcomes: outcomes.take(), files: files.take())
                    // Ends the streams of finished deliveries, and cancels those of deleted sessions.
                    for (key, cancellation) in underway where !loop.machine.working.contains(key) {
                        cancellation.finish()
                        underway[key] = nil
                    }
                    for job in loop.takeJobs() {
                        switch job {
                        case .deliver(let collected):
                            let (canceled, cancellation) = AsyncStream.makeStream(of: Void.self)
                            underway[collected.work.key] = cancellation
                            deliveries.addTask { await targets.deliver(collected, until: canceled, outcomes.add) }
                        case .write(let name, let collected):
                            let folder = configuration.temporaryFolder
                            deliveries.addTask { files.add(await .write(name, collected, folder: folder)) }
                        case .remove(let keys):
                            deliveries.addTask { await targets.remove(keys, context.logger) }
                        case .removeLeftovers(let epochs):
                            deliveries.addTask { await targets.removeLeftovers(epochs, context.logger) }
                        }
                    }
                }
            }
            await loop.finish()
        }
        await context.close(store)
    }

    private static func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        // Chunks, summaries and notes come first, because an export needs them.
        let topics: [SessionTopic.Kind] = [
            .series, .track, .summaryMetrics, .summaryRoute, .state, .profile, .workout, .export, .exportResult,
            .request,
        ]
        return topics.flatMap { TopicFilter.sessions($0, shards: shards) }
    }
}
