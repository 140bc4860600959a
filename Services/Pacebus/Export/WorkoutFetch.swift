import Bus
import Client
import Formats
import Foundation
import MQTT
import ServiceKit
import Workouts

/// Collects a finished workout with its series and track, and requests missing chunks. A value without a clock.
struct WorkoutFetch {
    /// Seconds after which a broker has sent its retained messages.
    static let grace = 2.0
    /// Seconds without news.
    static let timeout = 60.0
    /// Seconds without any message of the session after a connect, three requests included.
    static let firstTimeout = 15.0

    let key: SessionKey
    private let request: SessionRequest
    private var repeated = RepeatedRequest()
    private var newsAt: Moment
    private var state: SessionState?
    private(set) var workout: WorkoutRecord?
    private var collector = ChunkCollector(
        limits: .files, folder: FileManager.default.temporaryDirectory.path)

    init(_ key: SessionKey, client: Client, id: CommandID, now: Moment) {
        self.key = key
        request = SessionRequest(id: id, client: client, action: .chunks)
        newsAt = now
    }

    var subscriptions: [MQTTSubscription] {
        [SessionTopic.state, .workout, .summaryMetrics, .summaryRoute].map { TopicFilter.topic(.session(key, $0)) }
            + [SessionTopic.series(0), .track(0)].map { TopicFilter.anyLast(.session(key, $0)) }
    }

    mutating func connected(_ now: Moment) {
        repeated.connect(sendingFrom: now + Self.grace)
        // The timeout begins again with each connection.
        newsAt = now
    }

    mutating func disconnected() { repeated.disconnect() }

    /// Handles a message of the session.
    mutating func receive(_ message: MQTTMessage, _ now: Moment) throws(FetchFailure) {
        guard case .session(key, let topic) = Topic(message.topic) else { return }
        do throws(PayloadError) {
            if try receivePayload(message.payload, topic, now) { newsAt = now }
        } catch {
            throw .invalidMessage(topic: message.topic, error.text)
        }
        if case .deleted = state?.status { throw .deleted(key) }
    }

    /// The request to send now, if it is due.
    ///
    /// - Throws: if the session has no workout, or after a timeout.
    mutating func takeRequest(_ now: Moment) throws(FetchFailure) -> MQTTMessage? {
        let timeout = repeated.isConnected && isUnknown ? Self.firstTimeout : Self.timeout
        guard now.seconds(since: newsAt) < timeout else { throw failure }
        guard repeated.takeTurn(now) else { return nil }
        // By now all retained messages have arrived.
        if workout == nil, let state { try Self.checkThatOver(state) }
        return Topic.session(key, .request).message(JSONCoding.encode(request))
    }

    /// Removes and returns the workout once it is complete.
    mutating func takeWorkout() throws(FetchFailure) -> ExportedWorkout? {
        guard let workout, let (series, track) = collector.take(key) else { return nil }
        do {
            return try ExportedWorkout(workout: workout, series: try series.series(), track: try track.track())
        } catch {
            let text = (error as? PayloadError)?.text ?? "\(error)"
            throw .invalidMessage(topic: "a chunk of session \(key.session)", text)
        }
    }

    private func progress(_ kind: ChunkKind) -> ChunkProgress { collector.progress(kind, of: key) }

    /// The progress to print.
    var progress: String {
        guard let workout else { return "waiting for the workout" }
        let needed = workout.chunkRevisions.keys.map { progress($0) }
        let count = needed.reduce(0) { $0 + $1.count }
        guard needed.allSatisfy({ $0.total != nil }) else { return "\(count) chunks" }
        return "\(count) of \(needed.reduce(0) { $0 + ($1.total ?? 0) }) chunks"
    }
}

extension WorkoutFetch {
    /// Whether a message brings news. A repeated chunk brings none, so that a missing owner leads to the timeout.
    private mutating func receivePayload(
        _ payload: ArraySlice<UInt8>, _ topic: SessionTopic, _ now: Moment
    ) throws(PayloadError) -> Bool {
        switch topic {
        case .series(let number): return try receiveChunk(payload, number, .series)
        case .track(let number): return try receiveChunk(payload, number, .track)
        case _ where payload.isEmpty: return false
        case .summaryMetrics: return receiveSummary(try JSONCoding.decode(MetricsReport.self, from: payload), .series)
        case .summaryRoute: return receiveSummary(try JSONCoding.decode(RouteReport.self, from: payload), .track)
        case .state:
            let seen = try SessionState(payload)
            guard seen.revision > state?.revision ?? -1 else { return false }
            state = seen
        case .workout:
            let seen = try JSONCoding.decode(WorkoutRecord.self, from: payload)
            guard seen.revision > workout?.revision ?? -1 else { return false }
            // Nothing retained is left to wait for.
            if workout == nil, repeated.isConnected { repeated.connect(sendingFrom: now) }
            workout = seen
            collector.want(key, summaries: seen.summaries, now: now)
        default: return false
        }
        return true
    }

    private mutating func receiveChunk(
        _ payload: ArraySlice<UInt8>, _ number: Int, _ kind: ChunkKind
    ) throws(PayloadError) -> Bool {
        let before = progress(kind)
        try collector.receiveChunk(payload, number: number, kind: kind, of: key)
        return !payload.isEmpty && progress(kind) != before
    }

    private mutating func receiveSummary<Totals>(_ report: SummaryReport<Totals>, _ kind: ChunkKind) -> Bool {
        let before = progress(kind)
        collector.receiveSummary(revision: report.revision, chunks: report.chunks, kind: kind, of: key)
        return progress(kind) != before
    }

    private static func checkThatOver(_ state: SessionState) throws(FetchFailure) {
        if state.status.isUnfinished { throw .unfinished(state.key, state.status) }
        if state.status == .canceled { throw .canceled(state.key, reason: state.endReason ?? "unknown") }
    }

    private var isUnknown: Bool {
        state == nil && workout == nil && ChunkKind.allCases.allSatisfy { progress($0) == ChunkProgress() }
    }

    /// The reason of a timeout.
    private var failure: FetchFailure {
        guard repeated.isConnected else { return .noConnection }
        guard let workout else { return isUnknown ? .noWorkout(key) : .notSaved(key) }
        let kind = ChunkKind.allCases.first { kind in
            workout.chunkRevisions[kind].map { !progress(kind).isComplete(for: $0) } ?? false
        }
        guard let kind, let wanted = workout.chunkRevisions[kind] else { return .unsettled }
        let reached = progress(kind)
        let isNewEnough = reached.revision >= wanted
        return .missing(kind, count: isNewEnough ? reached.count : 0, total: isNewEnough ? reached.total : nil)
    }
}

extension WorkoutRecord {
    /// The revisions of the workout's summaries, by the kind of their chunks.
    fileprivate var chunkRevisions: [ChunkKind: Int64] {
        let named = ChunkKind.allCases.compactMap { kind in summaries[kind.summary].map { (kind, $0) } }
        return Dictionary(uniqueKeysWithValues: named)
    }
}
