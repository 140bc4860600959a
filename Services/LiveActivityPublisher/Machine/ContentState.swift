import Bus
import Workouts

/// The dynamic part of a Live Activity, as the app's `ContentState` decodes it with a default `JSONDecoder`.
///
/// Scalars only, including those of ``block``. Absent means unknown.
struct ContentState: Equatable, Sendable {
    /// Active seconds at ``asOf``.
    var elapsedTime: Double
    /// Unix seconds; unless paused or finished, the phone ticks on from here.
    var asOf: Double
    var isPaused: Bool
    var isFinished: Bool
    /// Metres.
    var distance: Double?
    /// Kilocalories.
    var activeEnergy: Double?
    /// Beats per minute.
    var heartRate: Double?
    var averageHeartRate: Double?
    var maximumHeartRate: Double?
    /// Seconds per kilometre.
    var pace: Double?
    /// Metres per second.
    var speed: Double?
    /// Per minute.
    var cadence: Double?
    /// Watts.
    var power: Double?
    /// Metres climbed.
    var ascent: Double?
    /// The current lap, from 1.
    var lap: Int
    var banner: Banner?
    var units: Units
    /// The current block of a planned workout.
    var block: PlanBlock?
    /// The nearest partner in a virtual run.
    var partner: NearestPartner?
}

/// The reader's place in a virtual run, and the partner with the smallest gap, which is unknown while no data arrive.
struct NearestPartner: Equatable, Sendable {
    /// The user, or `ghost 1`.
    var name: String
    /// Whole metres and seconds, positive when the partner is ahead.
    var gapMeters: Double?
    var gapSeconds: Double?
    /// The reader's place, from 1.
    var place: Int?
    /// The number of runners, the reader included.
    var runners: Int

    /// `nil` without partners.
    init?(_ partners: Partners) {
        guard let nearest = partners.nearest(1).first else { return nil }
        switch nearest.runner {
        case .participant(let user): name = "\(user)"
        case .ghost(let number): name = "ghost \(number)"
        }
        gapMeters = nearest.isCurrent ? nearest.gapMeters?.rounded() : nil
        gapSeconds = nearest.isCurrent ? nearest.gapSeconds?.rounded() : nil
        place = partners.place
        runners = partners.rows.count + 1
    }
}

extension ContentState {
    /// Combines a session and its snapshot: the session defines the clock, the snapshot contains the measurements.
    init(_ session: ActivitySession, _ snapshot: MetricsSnapshot?, _ partner: NearestPartner? = nil) {
        let newest = snapshot?.newest
        let end = session.openSince.map { max($0, newest ?? $0) }
        elapsedTime = session.closedSeconds + (end.map { $0.seconds(since: session.openSince ?? $0) } ?? 0)
        asOf = (end ?? session.closedAt ?? newest ?? session.changedAt).seconds
        isPaused = session.course != .running
        isFinished = session.isOver
        distance = snapshot?.distance
        activeEnergy = snapshot?.activeEnergy
        heartRate = snapshot?.heartRate
        averageHeartRate = snapshot?.averageHeartRate
        maximumHeartRate = snapshot?.maximumHeartRate
        pace = snapshot?.displayPace ?? snapshot?.pace
        speed = snapshot?.displaySpeed ?? snapshot?.speed
        cadence = snapshot?.cadence
        power = snapshot?.power
        ascent = snapshot?.ascent
        lap = session.lap
        banner = session.banner
        units = session.units
        block = session.block
        self.partner = session.isOver ? nil : partner
    }

    /// Whether a phone that shows `other` displays the same as time passes.
    func showsSame(as other: ContentState) -> Bool {
        var other = other
        guard !isNews(after: other) else { return false }
        other.elapsedTime = elapsedTime
        other.asOf = asOf
        return self == other
    }

    /// Whether the plan's cue differs.
    func isCue(after other: ContentState) -> Bool { block?.cue != other.block?.cue }

    /// Whether the session's state differs, as opposed to measurements or the plan's cue.
    func isNews(after other: ContentState) -> Bool {
        isPaused != other.isPaused || isFinished != other.isFinished || banner != other.banner
            || abs(origin - other.origin) >= 0.5
    }

    /// Constant while only the clock runs: the start of the clock without pauses, or the elapsed time if the clock is
    /// stopped.
    private var origin: Double { isPaused || isFinished ? elapsedTime : asOf - elapsedTime }
}

/// The static part of a Live Activity: the app's `WorkoutWidgetAttributes`.
struct ActivityAttributes: Equatable, Sendable {
    /// The name of an SF Symbol.
    var symbol: String
    /// The raw value of `HKWorkoutActivityType`.
    var workoutActivityType: Int
    var workoutName: String
}

extension ActivityAttributes {
    init(_ state: SessionState) {
        symbol = state.symbol
        workoutActivityType = state.healthKitActivityType
        workoutName = state.name
    }
}
