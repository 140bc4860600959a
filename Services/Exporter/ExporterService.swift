import AsyncHTTPClient
import Bus
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Workouts

/// Feeds the machine with workouts, chunks, results and time, and does what it returns: first to disk, then to the bus.
/// Writing and sending run beside that.
struct ExporterService: Service {
    let context: ServiceContext
    let configuration: ExportConfiguration
    let store: any Store
    /// For how long the answer to an upload is awaited.
    var patience = UploadTarget.patience

    func run() async throws {
        let health = StoreHealth()
        context.readiness.add("store") { health.isWriting }
        try await HTTPClient.withHTTPClient(configuration: UploadTarget.http) { client in
            let targets = targets(client)
            var loop = ExporterLoop(context: context, targets: targets, store: store, health: health)
            let outcomes = OutcomeBox()
            var underway: [SessionKey: AsyncStream<Void>.Continuation] = [:]
            try await withThrowingDiscardingTaskGroup { deliveries in
                defer { deliveries.cancelAll() }
                try await context.serve(store: store, subscriptions: Self.subscriptions) { event in
                    try await loop.handle(event, outcomes: outcomes.take())
                    // Those that are over, and those of sessions that were deleted.
                    for (key, end) in underway where !loop.machine.working.contains(key) {
                        end.finish()
                        underway[key] = nil
                    }
                    for collected in loop.takeCollected() {
                        let (isOff, end) = AsyncStream.makeStream(of: Void.self)
                        underway[collected.work.key] = end
                        deliveries.addTask { await targets.deliver(collected, until: isOff, outcomes.add) }
                    }
                }
            }
        }
        await store.close()
    }

    private func targets(_ client: HTTPClient) -> ExportTargets {
        var targets = ExportTargets()
        if let folder = configuration.folder {
            context.logger.info("files are left in a folder", metadata: ["folder": "\(folder)"])
            targets.folder = FolderTarget(folder: folder, formats: configuration.formats) { $0.bytes(of: $1) }
        }
        if let upload = configuration.upload {
            context.logger.info("workouts are uploaded", metadata: ["format": "\(upload.format)"])
            targets.upload = UploadTarget(upload, clock: context.clock, client: client, patience: patience) {
                $0.bytes(of: $1)
            }
        }
        return targets
    }

    private static func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        // Chunks and summaries first: a workout is exported when they are there.
        let topics: [TopicFilter.Sessions] = [
            .series, .track, .summaryMetrics, .summaryRoute, .state, .workout, .export, .exportResult, .request,
        ]
        return topics.flatMap { TopicFilter.sessions($0, shards: shards) }
    }
}
