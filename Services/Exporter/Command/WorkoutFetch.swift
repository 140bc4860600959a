import Bus
import Formats
import MQTT
import Workouts

/// Collects a finished workout with its series and track, and asks for what does not come by itself. A value without a
/// clock.
struct WorkoutFetch {
    /// Seconds after a connect in which a broker has sent what it retains.
    static let grace = 2.0
    /// Seconds without anything new until nothing can be expected any more.
    static let patience = 60.0
    /// Seconds after a connect until a session of which nothing was heard counts as unknown, by then asked for three times.
    static let firstPatience = 15.0

    let key: SessionKey
    private let request: SessionRequest
    private var timer = RequestTimer(grace: WorkoutFetch.grace)
    private var newsAt: Timestamp
    private var state: SessionState?
    private(set) var workout: WorkoutRecord?
    private var collector = ChunkCollector()

    init(_ key: SessionKey, client: Client, id: CommandID, now: Timestamp) {
        self.key = key
        request = SessionRequest(id: id, client: client, action: .chunks)
        newsAt = now
    }

    var subscriptions: [MQTTSubscription] {
        [SessionTopic.state, .workout, .summaryMetrics, .summaryRoute].map { TopicFilter.topic(.session(key, $0)) }
            + [SessionTopic.series(0), .track(0)].map { TopicFilter.anyLast(.session(key, $0)) }
    }

    mutating func connected(_ now: Timestamp) {
        timer.connected(now)
        // Who could not be reached before may answer now.
        newsAt = now
    }

    mutating func disconnected() { timer.disconnected() }

    /// Takes what a service says of the session.
    mutating func receive(_ message: MQTTMessage, _ now: Timestamp) throws(FetchFailure) {
        guard case .session(key, let topic) = Topic(message.topic) else { return }
        do throws(PayloadError) {
            if try take(message.payload, topic, now) { newsAt = now }
        } catch {
            throw .unreadable(topic: message.topic, error.detail)
        }
        if case .deleted = state?.status { throw .deleted(key) }
    }

    /// The request to send now, if it is due.
    ///
    /// - Throws: when there is nothing to wait for, or nothing new has come for too long.
    mutating func takeRequest(_ now: Timestamp) throws(FetchFailure) -> SessionRequest? {
        let patience = timer.isConnected && isUnheard ? Self.firstPatience : Self.patience
        guard now.seconds(since: newsAt) < patience else { throw failure }
        guard timer.take(now) else { return nil }
        // By now all that is retained has come.
        if workout == nil, let state { try Self.checkThatOver(state) }
        return request
    }

    /// The workout, once all of it is there. It is taken out.
    mutating func take() throws(FetchFailure) -> ExportedWorkout? {
        guard let workout else { return nil }
        do throws(PayloadError) {
            guard let (series, track) = try collector.take(key) else { return nil }
            return ExportedWorkout(workout: workout, series: series, track: track)
        } catch {
            throw .unreadable(topic: "a chunk of session \(key.session)", error.detail)
        }
    }

    private func progress(_ kind: ChunkKind) -> ChunkProgress { collector.progress(kind, of: key) }

    /// How far it has come, for people.
    var progress: String {
        guard let workout else { return "waiting for the workout" }
        let needed = workout.chunkRevisions.keys.map { progress($0) }
        let count = needed.reduce(0) { $0 + $1.count }
        guard needed.allSatisfy({ $0.total != nil }) else { return "\(count) chunks" }
        return "\(count) of \(needed.reduce(0) { $0 + ($1.total ?? 0) }) chunks"
    }
}

extension WorkoutFetch {
    /// Says whether anything is new: what an owner publishes again is not, so that another may be given up.
    private mutating func take(
        _ payload: ArraySlice<UInt8>, _ topic: SessionTopic, _ now: Timestamp
    ) throws(PayloadError) -> Bool {
        switch topic {
        case .series(let number): return try take(payload, number, .series)
        case .track(let number): return try take(payload, number, .track)
        case _ where payload.isEmpty: return false
        case .summaryMetrics: return take(try JSONCoding.decode(MetricsReport.self, from: payload), .series)
        case .summaryRoute: return take(try JSONCoding.decode(RouteReport.self, from: payload), .track)
        case .state:
            let seen = try SessionState(payload)
            guard seen.revision > state?.revision ?? -1 else { return false }
            state = seen
        case .workout:
            let seen = try JSONCoding.decode(WorkoutRecord.self, from: payload)
            guard seen.revision > workout?.revision ?? -1 else { return false }
            workout = seen
            collector.want(key, summaries: seen.summaries, now: now)
        default: return false
        }
        return true
    }

    private mutating func take(
        _ payload: ArraySlice<UInt8>, _ number: Int, _ kind: ChunkKind
    ) throws(PayloadError) -> Bool {
        let before = progress(kind)
        try collector.receive(payload, number: number, kind: kind, of: key)
        return !payload.isEmpty && progress(kind) != before
    }

    private mutating func take<Totals>(_ report: SummaryReport<Totals>, _ kind: ChunkKind) -> Bool {
        let before = progress(kind)
        collector.receive(revision: report.revision, chunks: report.chunks, kind: kind, of: key)
        return progress(kind) != before
    }

    private static func checkThatOver(_ state: SessionState) throws(FetchFailure) {
        switch state.status {
        case .preparing, .active, .paused, .suspended: throw .unfinished(state.key, state.status)
        case .canceled: throw .canceled(state.key, reason: state.endReason ?? "unknown")
        case .saving, .completed, .deleted: break
        }
    }

    private var isUnheard: Bool {
        state == nil && workout == nil && ChunkKind.allCases.allSatisfy { progress($0) == ChunkProgress() }
    }

    /// What it means that nothing new comes.
    private var failure: FetchFailure {
        guard timer.isConnected else { return .noConnection }
        guard let workout else { return isUnheard ? .noWorkout(key) : .notSaved(key) }
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
    /// The revisions of the summaries that went in, each by the kind of its chunks.
    fileprivate var chunkRevisions: [ChunkKind: Int64] {
        let named = ChunkKind.allCases.compactMap { kind in summaries[kind.summary].map { (kind, $0) } }
        return Dictionary(uniqueKeysWithValues: named)
    }
}

extension PayloadError {
    /// What was wrong.
    fileprivate var detail: String {
        switch self {
        case .malformed(let detail), .tooLarge(let detail): detail
        }
    }
}
