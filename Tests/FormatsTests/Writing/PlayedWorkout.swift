import Bus
import TestSupport
import Workouts

@testable import Formats

/// The exporter's input when one watch plays a recording: computed by the rules of the other services and read from
/// their chunks.
struct PlayedWorkout {
    let session: Session
    let exported: ExportedWorkout
    var workout: WorkoutRecord { exported.workout }

    /// - Parameter laps: the times of the lap commands.
    init(_ recording: Recording, name: String? = nil, laps: [Timestamp] = []) throws {
        let watch = Device("watch-1")!
        let session = try Self.session(recording, name: name, laps: laps)
        let items = CountedItems(streams: [watch: recording.samples], segments: session.segments)
        let locations = CountedLocations(
            streams: [watch: recording.locations], segments: session.segments, activity: session.activity,
            environment: session.environment)
        let route = RouteInput(track: Track(locations), totals: locations.summary())
        let record = WorkoutRecord(
            session,
            metrics: MetricsReport(
                revision: 1, state: 1, next: [:], chunks: 1,
                totals: items.summary(
                    route: route, laps: session.laps, units: .metric, activity: session.activity)),
            route: RouteReport(revision: 1, state: 1, next: [:], chunks: 1, totals: route.totals),
            isComplete: true, revision: 1)
        exported = ExportedWorkout(
            workout: record, series: try Self.chunks(FinalRows(Series(items))).series,
            track: try Self.chunks(FinalRows(Track(locations))).track)
        self.session = session
    }

    private static func session(_ recording: Recording, name: String?, laps: [Timestamp]) throws
        -> Session
    {
        let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)
        var session: Session?
        // A lap at the same time as a pause precedes it.
        let commands =
            laps.map { (at: $0, action: SessionAction.lap) }
            + recording.steps.compactMap { step -> (at: Timestamp, action: SessionAction)? in
                if case .command(let action) = step.kind { (step.at, action) } else { nil }
            }
        for (at, action) in commands.sorted(by: { $0.at < $1.at }) {
            if case .start(var start) = action {
                start.name = name
                session = Session(key: key, start: start, at: at, now: at)
            } else {
                try session?.apply(action, at: at)
            }
        }
        return session!
    }

    private static func chunks(_ rows: FinalRows) throws -> [FinalChunk] {
        try (0..<rows.chunkCount).map { try FinalChunk(rows.payload(number: $0, revision: 1)[...]) }
    }
}
