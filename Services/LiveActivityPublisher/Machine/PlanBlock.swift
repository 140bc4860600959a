import Workouts

/// A planned workout's current cue and progress.
struct PlanBlock: Equatable, Sendable {
    /// The current instruction; lookups are cached while it stays the same.
    struct Cue: Equatable, Sendable {
        /// The name of the current exercise; during a rest, of the next one.
        var exercise: String
        var phase: PlanTimer.Phase
        /// The current round, from 1.
        var round: Int
        /// The current set, from 1; absent when all are done.
        var set: Int?
    }

    var cue: Cue
    /// Unix seconds while the clock runs; the phone counts down to it.
    var phaseEndsAt: Double?
    /// Seconds left while the clock is stopped.
    var phaseRemaining: Double?
    /// The number of rounds; absent for AMRAP.
    var rounds: Int?
    /// The number of the exercise's sets.
    var sets: Int
    /// Exercises done, skipped ones excluded.
    var done: Int
    var total: Int
}

extension PlanBlock {
    /// `nil` if the progress belongs to another plan.
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
