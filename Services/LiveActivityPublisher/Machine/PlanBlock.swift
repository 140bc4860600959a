import Workouts

/// What is on of a planned workout, and how far it has come.
struct PlanBlock: Equatable, Sendable {
    /// What somebody is to do now: while it stays the same, nothing has to be looked up.
    struct Cue: Equatable, Sendable {
        /// The name of the exercise that is on, in a rest of the one that comes next.
        var exercise: String
        var phase: PlanTimer.Phase
        /// From 1.
        var round: Int
        /// From 1; absent when all are done.
        var set: Int?
    }

    var cue: Cue
    /// Unix seconds; while the clock runs. The phone counts down to it by itself.
    var phaseEndsAt: Double?
    /// Seconds left; while the clock stands.
    var phaseRemaining: Double?
    /// How many rounds there are; absent of as many as possible.
    var rounds: Int?
    /// How many sets the exercise has.
    var sets: Int
    /// Exercises that are done, of those that are not skipped.
    var done: Int
    var total: Int
}

extension PlanBlock {
    /// `nil` when the progress is of another plan.
    init?(_ state: PlanState) {
        guard let on = state.plan.item(state.progress.item) else { return nil }
        let item = state.next ?? on
        cue = Cue(
            exercise: item.exercise.name, phase: state.timer.phase, round: state.timer.round,
            set: state.next == nil ? state.progress.set.map { $0 + 1 } : 1)
        phaseEndsAt = state.timer.endsAt?.seconds
        phaseRemaining = state.timer.remaining
        rounds = state.timer.rounds
        sets = item.sets.count
        done = state.progress.done
        total = state.progress.total
    }
}
