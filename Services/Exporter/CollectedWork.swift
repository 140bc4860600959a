import Workouts

/// What was begun and has come whole: to be written and brought to its targets.
struct CollectedWork: Sendable {
    let work: ExportWork
    let workout: WorkoutRecord
    let series: Series
    let track: Track
}

/// What came of one destination.
struct DeliveryOutcome: Sendable {
    let key: SessionKey
    let target: Target
    /// The revision of the workout.
    let workout: Int64
    let delivery: Delivery
    /// How long writing and bringing it took.
    let took: Duration

    init(work: ExportWork, target: Target, delivery: Delivery, took: Duration = .zero) {
        key = work.key
        workout = work.workout
        self.target = target
        self.delivery = delivery
        self.took = took
    }
}
