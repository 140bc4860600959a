import Bus
import Formats
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import Exporter

/// Three finished workouts. The second is exported again on request, the third is deleted.
struct ExporterStorm: StormService {
    /// A target that accepts every workout at once.
    private struct ShelfTarget: ExportTarget {
        static let name = Target("shelf")!
        static let policy = ExportPolicy.once
        static let concurrency = 2

        init() {}
        init?(_ configuration: ExportConfiguration, _ resources: ExportResources) { nil }

        func deliver(
            _ workout: ExportedWorkout, idempotencyKey: String, fence: DeliveryFence, allowance: ByteAllowance
        ) async -> Delivery {
            .delivered()
        }
    }

    static let name = "exporter"
    static let schema = ExportRecord.schema
    private static let rows = 3
    private var loop: ExporterLoop
    private let targets = ExportTargets([ShelfTarget()])
    private let outcomes = Inbox<DeliveryOutcome>()

    init(_ context: ServiceContext, _ store: any Store) {
        loop = ExporterLoop(context: context, targets: targets, store: store, folder: "/nowhere")
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        try await loop.handle(event, outcomes: outcomes.take())
        for case .deliver(let collected) in loop.takeJobs() { await targets.deliver(collected) { outcomes.add($0) } }
    }

    static func scripts(at start: Timestamp) -> [StormScript] {
        (1...3).map { number in
            var script = StormScript(number)
            let key = script.key
            script.retain(.workout, workout(of: key, at: start))
            if number == 2 {
                script.send(.session(key, .request)) {
                    SessionRequest(id: $0, client: $1, action: .export(ShelfTarget.name))
                }
            }
            if number == 3 { script.retain(.state, ["revision": "9", "status": "deleted"]) }
            return script
        }
    }

    static func workout(of key: SessionKey, at start: Timestamp) -> WorkoutRecord {
        var session = Session(key: key, start: SessionStart(activity: .running, countdown: 0), at: start, now: start)
        do {
            try session.apply(.end(streams: [:]), at: start + Double(rows))
        } catch {
            preconditionFailure("an active session ends: \(error)")
        }
        return WorkoutRecord(
            session, metrics: metrics, route: route, isComplete: true, revision: start.milliseconds)
    }

    private static var times: [Timestamp] { (0..<rows).map { Timestamp(seconds: 1_700_000_000 + Double($0)) } }

    private static var series: FinalRows {
        FinalRows(Series(times: times, columns: [.init(quantity: .heartRate, values: times.map { _ in 120 })]))
    }

    private static var track: FinalRows {
        FinalRows(
            Track(
                times: times,
                columns: [
                    .init(kind: .latitude, values: times.map { _ in 52 }),
                    .init(kind: .longitude, values: times.map { _ in 13 }),
                ]))
    }

    private static var metrics: MetricsReport {
        MetricsReport(revision: 1, state: 1, next: [:], chunks: series.chunkCount, totals: MetricsSummary())
    }

    private static var route: RouteReport {
        RouteReport(revision: 1, state: 1, next: [:], chunks: track.chunkCount, totals: RouteSummary())
    }

    /// The owners of series and track answer requests for chunks.
    static func answers(to message: MQTTMessage, _ scripts: [StormScript]) -> [MQTTMessage] {
        guard case .session(let key, .request)? = Topic(message.topic) else { return [] }
        func chunks(_ rows: FinalRows, _ topic: (Int) -> SessionTopic) -> [MQTTMessage] {
            (0..<rows.chunkCount).map { Topic.session(key, topic($0)).message(rows.payload(number: $0, revision: 1)) }
        }
        return chunks(series, SessionTopic.series)
            + [Topic.session(key, .summaryMetrics).message(JSONCoding.encode(metrics))]
            + chunks(track, SessionTopic.track)
            + [Topic.session(key, .summaryRoute).message(JSONCoding.encode(route))]
    }

    static func stored(_ disk: StormDisk) throws -> StoredState {
        var stored = StoredState(accepted: nil)
        for (key, record) in try disk.sessions(ExportRecord.exports, ExportRecord.self) {
            for job in record.jobs {
                stored.raise(.session(key, .export(job.target)), job.revision)
                stored.note(key.user, ["\(job.target)", job.status.rawValue])
            }
        }
        return stored
    }
}
