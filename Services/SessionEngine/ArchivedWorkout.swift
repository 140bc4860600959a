import Workouts

/// What a line of the history takes out of a ``SessionRecord``, whose routes would be most of the work to read.
struct ArchivedWorkout: Decodable {
    /// `nil` of a session that was never finished.
    let workout: WorkoutOverview?
}
