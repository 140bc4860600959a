@testable import Workouts

/// A plan performed with pauses; events and queries are in seconds of active time.
struct PlannedRun {
    /// The active time of each pause in seconds, and its length.
    struct Pause {
        let at: Double
        let length: Double
    }

    var planned: PlannedWorkout
    private(set) var segments: [Segment] = []
    private let pauses: [Pause]

    init(_ definition: WorkoutDefinition, pauses: [Pause] = []) {
        planned = PlannedWorkout(SessionPlan(definition), start: year2026)
        self.pauses = pauses.sorted { $0.at < $1.at }
        var (from, moved) = (0.0, 0.0)
        for pause in self.pauses {
            segments.append(segment(from + moved, pause.at + moved))
            (from, moved) = (pause.at, moved + pause.length)
        }
        segments.append(segment(from + moved, nil))
    }

    /// The moment at an active time; the middle of a pause that begins there.
    func time(_ active: Double) -> Timestamp {
        let moved = pauses.reduce(0) { $0 + ($1.at < active ? $1.length : $1.at == active ? $1.length / 2 : 0) }
        return year2026 + (active + moved)
    }

    mutating func apply(_ action: PlanAction, at active: Double) throws(Refusal) {
        try planned.apply(action, at: time(active), segments)
    }

    mutating func take(_ advice: CoachAdvice, at active: Double = 1) throws(Refusal) {
        try planned.take(advice, time(active), ActiveClock(segments))
    }

    /// Completes the current set or a named one.
    mutating func complete(_ item: String? = nil, set: Int? = nil, round: Int? = nil, at active: Double) throws(Refusal)
    {
        try apply(.completeSet(SetCompletion(SetReference(item: item, set: set, round: round))), at: active)
    }

    func timer(_ active: Double) -> PlanTimer { planned.timer(at: time(active), segments) }

    func exercises(_ active: Double) -> [Int] {
        let exercises = planned.exercises(at: time(active), segments)
        return [exercises.done, exercises.total]
    }

    /// The segments of a session that ends at this time.
    func segments(endedAt active: Double) -> [Segment] {
        let end = time(active)
        return segments.filter { $0.start <= end }
            .map { Segment(start: $0.start, end: min($0.end ?? end, end)) }
    }

    func performedSets(endedAt active: Double) -> [PlannedWorkout.PerformedSet] {
        planned.performedSets(segments(endedAt: active), endedAt: time(active))
    }

    func rounds(endedAt active: Double) -> [PlannedWorkout.Round] {
        planned.rounds(segments(endedAt: active), endedAt: time(active))
    }
}

extension PlanTimer {
    /// The active time at the end of the phase, in seconds.
    var endsAt: Double? { phaseEnd.map { Double($0) / 1e6 } }

    /// The phase and its item.
    var name: String {
        "\(block) \(item) \(phase) \(round)" + (overdue.map { " set \($0)" } ?? "")
    }
}
