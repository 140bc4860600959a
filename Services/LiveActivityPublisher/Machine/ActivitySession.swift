import Workouts

/// The parts of a session's `state` that the publisher uses.
struct ActivitySession: Equatable, Sendable {
    enum Course: Equatable, Sendable {
        /// Counting down.
        case preparing
        case running
        /// Paused or suspended.
        case standing
        /// Over, unless the engine restores it.
        case over
        /// Discarded by the user: dismissed without showing an end.
        case discarded
        case deleted
    }

    var revision: Int64
    var course: Course
    var attributes: ActivityAttributes
    /// The total of the closed segments, in seconds.
    var closedSeconds: Double
    /// The start of the open segment.
    var openSince: Timestamp?
    /// The end of the last closed segment.
    var closedAt: Timestamp?
    /// The current lap, from 1.
    var lap: Int
    var banner: Banner?
    var units: Units
    /// The current block of a planned workout.
    var block: PlanBlock?
    var run: RunID?

    init(_ state: SessionState, _ plan: PlanState? = nil) {
        revision = state.revision
        course = Course(state)
        attributes = ActivityAttributes(state)
        closedSeconds = state.segments.activeDuration()
        openSince = state.segments.last.flatMap { $0.end == nil ? $0.start : nil }
        closedAt = state.segments.last { $0.end != nil }?.end
        lap = state.laps.count + 1
        banner = state.banner
        units = state.units
        block = plan.flatMap { PlanBlock($0) }
        run = state.run
    }

    var isOver: Bool {
        switch course {
        case .preparing, .running, .standing: false
        case .over, .discarded, .deleted: true
        }
    }

    /// When the state was published, by the engine's clock.
    var changedAt: Timestamp { Timestamp(seconds: Double(revision) / 1_000) }
}

extension ActivitySession.Course {
    fileprivate init(_ state: SessionState) {
        switch state.status {
        case .preparing: self = .preparing
        case .active: self = .running
        case .paused, .suspended: self = .standing
        case .saving, .completed: self = .over
        case .canceled: self = state.endReason == Session.CancelReason.discarded.rawValue ? .discarded : .over
        case .deleted: self = .deleted
        }
    }
}
