import Bus
import ServiceKit
import Workouts

/// What is known of a participant of a ``LiveRun`` now.
struct LiveRunner {
    /// The part that survives a restart.
    struct Facts: Codable, Equatable, Sendable {
        /// The first position of the session, and the metres by which the session's start may be away from it.
        struct Start: Codable, Equatable, Sendable {
            var latitude: Double
            var longitude: Double
            var slack: Double
        }

        /// Seconds and metres of the session before the run's start.
        struct Base: Codable, Equatable, Sendable {
            var seconds = 0.0
            var meters = 0.0
        }

        var user: User
        var session: SessionID?
        var start: Start?
        var base: Base?
        /// The elapsed time at which the runner reached the goal.
        var goalAt: Double?
        /// When the link was lost: the 15th second after the newest item.
        var lostAt: Timestamp?
        /// Of the prompt: when an item of a partner last arrived. Before `waitsUntil` it does not come again.
        var promptAt: Timestamp?
        var waitsUntil: Timestamp?
        /// Whether the runner began, with any session.
        var hasBegun: Bool?
        /// Whether the cues that this runner finished, or left, went out.
        var toldFinish: Bool?
        var toldLeft: Bool?
        /// The cues that this user got: the last kilometre or mile, whether the user leads, the times of the last `lead` and
        /// `finished`.
        var split: Int?
        var isLeading: Bool?
        var leadAt: Timestamp?
        var finishAt: Timestamp?

        init(_ user: User) { self.user = user }

        /// Removes what belongs to a session.
        mutating func reset(_ session: SessionID?) {
            self.session = session
            (start, base, goalAt, lostAt) = (nil, nil, nil, nil)
        }
    }

    var participant: RunRoster.Participant
    var facts: Facts
    /// By the run's clock, from the run's start.
    var curve: RunCurve
    /// Whether ``curve`` has a point.
    var hasCurve: Bool
    var metrics: RunnerMetrics?
    /// The newest snapshot before the run's start.
    private var early: RunnerMetrics?
    /// When an item arrived, on the clock of ages.
    var arrivedAt: Int64
    var link = RunLink.connected
    /// The circle that ``Sharing/hideNear`` hides.
    private var circle: HiddenCircle?
    /// The position, unless it is hidden.
    private(set) var position: Coordinate?

    init(_ participant: RunRoster.Participant, facts: Facts, curve: RunCurve?, arrivedAt: Int64) {
        self.participant = participant
        self.facts = facts
        self.curve = curve ?? RunCurve()
        self.arrivedAt = arrivedAt
        hasCurve = curve != nil
        if participant.status.hasBegun { self.facts.hasBegun = true }
    }

    // Inlined: passing a runner copies it, and figures ask for all runners again and again.

    /// Whether the runner reached the goal or ended; it never becomes `false` again in a session.
    @inline(__always) var isFinished: Bool { facts.goalAt != nil || participant.status == .finished }

    /// Whether others wait for this runner's data.
    @inline(__always) var isAwaited: Bool { participant.status == .running && !isFinished }

    /// The end of the curve for comparisons.
    @inline(__always) var end: RunGap.End {
        if let goal = facts.goalAt { return .goal(goal) }
        return participant.status == .finished ? .stopped(curve.duration) : .open(curve.duration)
    }

    /// Metres and elapsed seconds as they are compared, rounded to thousandths; `nil` without a distance.
    @inline(__always) var figures: (meters: Double, seconds: Double)? {
        hasCurve ? (curve.distance, curve.duration) : nil
    }

    /// The pace of what the runner covered until the goal or the end; `nil` below 50 m or above 1,800 s/km.
    var pace: Double? {
        guard hasCurve else { return nil }
        let seconds = facts.goalAt ?? curve.duration
        return runPace(seconds: seconds, meters: curve.metres(at: seconds))
    }

    /// The revision of the newest snapshot.
    var revision: Int64 { metrics?.revision ?? -1 }

    /// Takes a newer snapshot.
    ///
    /// - Returns: whether ``facts`` changed.
    mutating func receive(_ new: RunnerMetrics, goal: RunGoal?, clock: RunClock, key: HidingKey) -> Bool {
        let old = facts
        let isCorner = metrics.map { $0.isPaused != new.isPaused } ?? false
        metrics = new
        addPoint(new, clock, isCorner: isCorner)
        if facts.goalAt == nil, hasCurve, let goal { facts.goalAt = curve.seconds(to: goal) }
        if facts.start == nil, let place = new.position {
            // A position that comes late is as far from the start as the way until then, at most.
            let slack = new.distance ?? 5 * (new.activeSeconds ?? 0)
            facts.start = .init(latitude: place.latitude, longitude: place.longitude, slack: slack)
            hide(key)
        } else {
            showPosition()
        }
        return facts != old
    }

    private mutating func addPoint(_ new: RunnerMetrics, _ clock: RunClock, isCorner: Bool) {
        guard let time = new.newest, let seconds = new.activeSeconds, let meters = new.distance else { return }
        let start = participant.startsAt ?? time - seconds
        guard time >= start else {
            early = new
            return
        }
        let base = facts.base ?? base(at: start, time, seconds, meters)
        facts.base = base
        let elapsed = clock == .active ? seconds - base.seconds : time.seconds(since: start)
        let idle = elapsed - (seconds - base.seconds)
        // By the gun, who began late stood until then.
        if !hasCurve, idle > 1 { curve.addPoint(idle, 0, isCorner: true) }
        curve.addPoint(max(0, elapsed), max(0, meters - base.meters), isCorner: isCorner)
        hasCurve = true
    }

    /// What the session had at the run's start: between the snapshots before and after, or else as if the runner had been
    /// equally fast all the time.
    private func base(at start: Timestamp, _ time: Timestamp, _ seconds: Double, _ meters: Double) -> Facts.Base {
        if let early, let before = early.newest {
            let span = time.seconds(since: before)
            let share = span > 0 ? start.seconds(since: before) / span : 1
            let (oldSeconds, oldMeters) = (early.activeSeconds ?? 0, early.distance ?? 0)
            return Facts.Base(
                seconds: oldSeconds + max(0, seconds - oldSeconds) * share,
                meters: oldMeters + max(0, meters - oldMeters) * share)
        }
        // Active time cannot be longer than the time since the start.
        let excess = seconds - time.seconds(since: start)
        guard excess > 0.5 else { return Facts.Base() }
        return Facts.Base(seconds: excess, meters: meters * excess / seconds)
    }

    /// Computes the hidden circle.
    mutating func hide(_ key: HidingKey) {
        circle = facts.start.flatMap { start in
            participant.sharing.hideNear > 0
                ? HiddenCircle(
                    around: Coordinate(latitude: start.latitude, longitude: start.longitude),
                    radius: participant.sharing.hideNear + start.slack, key: key)
                : nil
        }
        showPosition()
    }

    private mutating func showPosition() {
        position = metrics?.position.flatMap { place in circle?.contains(place) == true ? nil : place }
    }
}
