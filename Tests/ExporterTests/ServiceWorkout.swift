import Bus
import Formats
import Foundation
import MQTT
import TestSupport
import Workouts

@testable import Exporter

/// A finished workout with all messages of its owners.
struct ServiceWorkout {
    let key: SessionKey
    var name = "Morning Run"
    /// Before the initial time of a `ManualClock`.
    var start = Timestamp(seconds: 1_735_680_000)
    var revision: Int64 = 1
    var mode = Mode.phone
    var isIncomplete = false
    /// One a second, in two chunks.
    var rows = 600

    init(_ user: String = "anna", session: SessionID = SessionID(UUID())) {
        key = SessionKey(User(user)!, session)
    }

    private var times: [Timestamp] { (0..<rows).map { start + Double($0) } }

    var series: Series {
        Series(
            times: times,
            columns: [
                .init(quantity: .heartRate, values: (0..<rows).map { Double(120 + $0 % 40) }),
                .init(quantity: .distance, values: (0..<rows).map { Double($0 % 4) }),
            ])
    }

    var track: Track {
        Track(
            times: times,
            columns: [
                .init(kind: .latitude, values: (0..<rows).map { 52 + Double($0) / 50_000 }),
                .init(kind: .longitude, values: (0..<rows).map { _ in 13 }),
            ])
    }

    var record: WorkoutRecord {
        var session = Session(
            key: key, start: SessionStart(activity: .running, name: name, countdown: 0), at: start, now: start)
        do {
            try session.apply(.end(streams: [:]), at: start + Double(rows))
        } catch {
            preconditionFailure("an active session ends: \(error)")
        }
        var record = WorkoutRecord(
            session, metrics: metrics, route: route, isComplete: !isIncomplete, revision: revision)
        record.mode = mode
        return record
    }

    /// The file in a format.
    ///
    /// - Parameter rows: the workout with the series and track; by default this one.
    func file(_ format: ExportFormat, rows: ServiceWorkout? = nil) -> [UInt8] {
        let rows = rows ?? self
        return format.bytes(of: ExportedWorkout(workout: record, series: rows.series, track: rows.track))
    }

    /// The paths of its files below the folder.
    var files: [String] { ExportFormat.allCases.map { ExportFile(record, $0).path } }

    // MARK: Messages

    private var metrics: MetricsReport {
        MetricsReport(
            revision: revision, state: 1, next: [:], chunks: FinalRows(series).chunkCount, totals: MetricsSummary())
    }

    private var route: RouteReport {
        RouteReport(
            revision: revision, state: 1, next: [:], chunks: FinalRows(track).chunkCount, totals: RouteSummary())
    }

    /// Chunks, then their summaries, as their owners publish them.
    var chunks: [MQTTMessage] {
        func messages(_ rows: FinalRows, _ topic: (Int) -> SessionTopic) -> [MQTTMessage] {
            (0..<rows.chunkCount).map {
                Topic.session(key, topic($0)).message(rows.payload(number: $0, revision: revision))
            }
        }
        return messages(FinalRows(series), SessionTopic.series) + [message(.summaryMetrics, metrics)]
            + messages(FinalRows(track), SessionTopic.track) + [message(.summaryRoute, route)]
    }

    var workout: MQTTMessage { message(.workout, record) }

    /// All messages in the order of the bus.
    var messages: [MQTTMessage] { chunks + [workout] }

    /// The state of the deleted session.
    var deletion: MQTTMessage {
        Topic.session(key, .state).message(Array(#"{"revision":9,"status":"deleted"}"#.utf8))
    }

    /// The user's request for an export to one target or to all.
    func request(_ target: Target?, id: CommandID = CommandID(UUID())) -> MQTTMessage {
        message(.request, SessionRequest(id: id, client: Client("tests")!, action: .export(target)))
    }

    /// A device's result of writing it to HealthKit.
    func result(_ error: Refusal? = nil, id: CommandID = CommandID(UUID())) -> MQTTMessage {
        let result = ExportResult(id: id, client: Client("tests")!, workout: revision, error: error)
        return message(.exportResult(.healthKit), result)
    }

    private func message(_ topic: SessionTopic, _ payload: some Encodable) -> MQTTMessage {
        Topic.session(key, topic).message(JSONCoding.encode(payload))
    }
}
