import Bus
import Client
import ServiceKit
import Workouts

/// A run that waits for the curves of its ghosts.
struct RunCreation: Equatable {
    /// Seconds until the request is refused.
    static let timeout = 60.0
    /// Seconds between two requests for a ghost's record.
    static let interval = 5.0

    let request: VirtualRunRequest
    let user: User
    let since: Moment
    var askedAt: Moment?
    /// The ghosts' sessions by number.
    var ghosts: [Int: SessionKey] = [:]
    /// The records and curves of ghosts that have arrived.
    var workouts: [SessionKey: RunWorkout] = [:]
    var curves: [SessionKey: FinalRecord] = [:]
}

extension ChunkCollector.Timing {
    /// A route is asked for 18 times, 10 s apart, then hourly for 48 h.
    static var virtualRun: Self {
        var timing = Self()
        timing.interval = 10
        timing.requests = 18
        timing.timeout = RetainedTopic.lifetime
        return timing
    }
}

extension FinalRecord {
    init(
        _ workout: RunWorkout, _ series: Series, _ track: Track, in settings: RunSettings, startsAt: Timestamp?
    ) {
        session = workout.session
        summaries = workout.summaries
        curve = RunCurve(
            series: series, track: track, segments: workout.segments, clock: settings.clock, startsAt: startsAt,
            goal: settings.goal)
        route = RunnerRoute(track: track, series: series, segments: workout.segments)
    }
}
