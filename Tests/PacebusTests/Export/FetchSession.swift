import Bus
import Client
import Formats
import Foundation
import MQTT
import TestSupport
import Workouts

@testable import Pacebus

/// A finished session and the messages of its owners.
struct FetchSession {
    static let start = Timestamp(seconds: 1_700_000_000)
    /// The revision of the workout's summaries.
    static let revision: Int64 = 20

    let key = SessionKey(User("ann")!, SessionID(UUID()))
    /// Three chunks.
    let series: Series
    /// Two chunks.
    let track: Track

    /// - Parameter shift: makes the values different from those of another revision.
    init(shift: Double = 0) {
        series = Series(
            times: (0..<1_200).map { Self.start + Double($0) },
            columns: [.init(quantity: .heartRate, values: (0..<1_200).map { Double(100 + $0 % 60) + shift })])
        track = Track(
            times: (0..<600).map { Self.start + Double($0 * 2) },
            columns: [
                .init(kind: .latitude, values: (0..<600).map { 50 + Double($0) / 10_000 }),
                .init(kind: .longitude, values: (0..<600).map { 8 + Double($0) / 10_000 }),
            ])
    }

    private var session: Session {
        var session = Session(
            key: key, start: SessionStart(activity: .running, name: "Evening Run", countdown: 0), at: Self.start,
            now: Self.start)
        _ = session.advance(to: Self.start + 1)
        do throws(Refusal) {
            try session.apply(.end(streams: [:]), at: Self.start + 1_200)
        } catch {
            preconditionFailure("\(error)")
        }
        return session
    }

    var record: WorkoutRecord {
        WorkoutRecord(
            session, metrics: metrics(Self.revision), route: route(Self.revision), isComplete: true, revision: 30)
    }

    var exported: ExportedWorkout { ExportedWorkout(workout: record, series: series, track: track) }

    private func metrics(_ revision: Int64) -> MetricsReport {
        MetricsReport(
            revision: revision, state: 1, next: [:], chunks: FinalRows(series).chunkCount, totals: MetricsSummary())
    }

    private func route(_ revision: Int64) -> RouteReport {
        RouteReport(
            revision: revision, state: 1, next: [:], chunks: FinalRows(track).chunkCount, totals: RouteSummary())
    }

    func message(_ topic: SessionTopic, _ payload: [UInt8]) -> MQTTMessage {
        Topic.session(key, topic).message(payload)
    }

    var workout: MQTTMessage { message(.workout, JSONCoding.encode(record)) }

    func state(_ status: SessionStatus, endReason: String? = nil) -> MQTTMessage {
        var state = session.state(revision: 5)
        state.status = status
        state.endReason = endReason
        return message(.state, JSONCoding.encode(state))
    }

    func summary(_ kind: ChunkKind, _ revision: Int64 = revision) -> MQTTMessage {
        switch kind {
        case .series: message(.summaryMetrics, JSONCoding.encode(metrics(revision)))
        case .track: message(.summaryRoute, JSONCoding.encode(route(revision)))
        }
    }

    /// The chunks of a kind, then their summary.
    func final(_ kind: ChunkKind, _ revision: Int64 = revision) -> [MQTTMessage] {
        let rows = kind == .series ? FinalRows(series) : FinalRows(track)
        return (0..<rows.chunkCount).map { number in
            message(
                kind == .series ? .series(number) : .track(number), rows.payload(number: number, revision: revision))
        } + [summary(kind, revision)]
    }

    func status(
        _ target: Target, _ status: ExportStatus.Status, revision: Int64, reason: String? = nil, files: [String]? = nil
    ) -> MQTTMessage {
        var published = ExportStatus(key: key, target: target, revision: revision, status: status, workout: 30)
        published.reason = reason
        published.files = files
        published.mode = target == .healthKit ? .phone : nil
        return message(.export(target), JSONCoding.encode(published))
    }

    func reply(_ request: SessionRequest, _ refusal: Refusal? = nil) -> MQTTMessage {
        Topic.user(key.user, .replies(request.client!))
            .message(JSONCoding.encode(Reply(id: request.id, revision: nil, now: Self.start, error: refusal)))
    }
}

extension Target {
    static let folder = Target("folder")!
    static let upload = Target("upload")!
    static let healthKit = Target("healthkit")!
}
